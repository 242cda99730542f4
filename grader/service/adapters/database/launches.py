"""What is kept of a learning platform, in the course database."""

from datetime import datetime

from grader.course.database.store import Store
from grader.extras import needs
from grader.service.domain.platforms import Context, Sent

with needs("course"):
    from sqlalchemy import select, update

    from grader.course.database.roster_tables import ContextRow, SentRow


class DatabasePlatforms:
    """Implements ``ports.launches.Platforms``; whoever opened the database also closes it."""

    def __init__(self, course: Store) -> None:
        self._course = course

    def note_context(self, context: Context) -> None:
        """Note a course there; an address that is empty leaves the one that was known."""
        with self._course.writing() as session:
            old = session.get(ContextRow, (context.deployment, context.id))
            session.merge(
                ContextRow(
                    deployment=context.deployment,
                    id=context.id,
                    title=context.title,
                    members=context.members or (old.members if old else ""),
                    items=context.items or (old.items if old else ""),
                    seen=context.seen,
                )
            )

    def contexts(self) -> list[Context]:
        """List the courses there, by deployment and id."""
        rows = select(ContextRow).order_by(ContextRow.deployment, ContextRow.id)
        with self._course.reading() as session:
            return [
                Context(row.deployment, row.id, row.title, row.members, row.items, row.seen)
                for row in session.scalars(rows)
            ]

    def begin_sending(self, mark: Sent) -> None:
        """Note a mark before it goes."""
        with self._course.writing() as session:
            session.add(
                SentRow(
                    student=mark.student,
                    lab=mark.lab,
                    points=mark.points,
                    possible=mark.possible,
                    comment=mark.comment,
                    made=mark.made,
                    done=mark.done,
                )
            )

    def end_sending(self, student: str, lab: str, made: datetime) -> None:
        """Note that it arrived."""
        own = (SentRow.student == student, SentRow.lab == lab, SentRow.made == made)
        with self._course.writing() as session:
            session.execute(update(SentRow).where(*own).values(done=True))

    def sent(self, student: str, lab: str) -> Sent | None:
        """Return the newest mark of a student and lab that was on its way; None: there is none."""
        own = select(SentRow).where(SentRow.student == student, SentRow.lab == lab)
        with self._course.reading() as session:
            row = session.scalar(own.order_by(SentRow.id.desc()).limit(1))
            if row is None:
                return None
            said = (row.points, row.possible, row.comment, row.made, row.done)
            return Sent(row.student, row.lab, *said)
