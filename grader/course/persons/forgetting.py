"""Forget a person: after it nothing that the course keeps names them, whatever dies on the way.

What is to be found is written to a file first and deleted last, so that a run that was killed goes
on where a new one begins; each step finds nothing to do where it was done. Files go before rows,
and rows in one transaction with the word that somebody was forgotten.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.course.config import Course, load_course
from grader.course.database.connection import connect, explained, file_of, located
from grader.course.database.store import WAIT_SECONDS, Store
from grader.course.persons.files import (
    course_without,
    folders_of,
    log_without,
    naming,
    remove_all,
    roster_without,
    waiting_of,
    work_in,
)
from grader.course.persons.rows import mentions, owned, remove
from grader.course.persons.words import Known, Words
from grader.course.rosters.people import known_people
from grader.errors import UsageError
from grader.extras import needs
from grader.files import write_file
from grader.labs.standing import FOLDER as OWN

with needs("course"):
    from sqlalchemy import select, text

    from grader.course.database.roster_tables import ForgettingRow
    from grader.course.database.tables import StudentRow

JOURNAL = "forgetting.json"  # beside the spool: who is being forgotten, until it is done


@dataclass(frozen=True, slots=True)
class Wish:
    """Who is to be forgotten, by whose word and why; ``made`` marks the word."""

    person: Known
    author: str
    reason: str
    made: datetime
    resumed: bool = False  # a run of it was cut off


@dataclass(slots=True)
class Done:
    """What was deleted, or would be; ``left`` are files of others that name the person."""

    rows: Mapping[str, int] = field(default_factory=dict[str, int])
    named: int = 0  # texts in rows of others
    files: list[Path] = field(default_factory=list[Path])  # and folders
    lists: list[str] = field(default_factory=list[str])  # rosters and logs that were rewritten
    left: list[Path] = field(default_factory=list[Path])

    @property
    def is_nothing(self) -> bool:
        """Whether nobody was found."""
        return not (self.rows or self.named or self.files or self.lists)


def wish_of(course: Course, store: Store, id: str, author: str, reason: str) -> Wish:
    """Say who is meant; a run that was cut off goes on with what it had been told.

    Raises UsageError where the word that stays would itself name the person, or another run was cut
    off that was about somebody else.
    """
    journal = _journal(course)
    if journal.exists():
        said = json.loads(journal.read_bytes())
        who = said["person"]
        before = Wish(
            Known(who["id"], who["name"], who["email"], tuple(who["others"])),
            said["author"],
            said["reason"],
            datetime.fromisoformat(said["made"]),
            resumed=True,
        )
        if before.person.id != id:
            told = f"{before.person.id} was being forgotten when that was cut off"
            raise UsageError(told, f"lab gradebook forget {before.person.id} first")
        return before
    person = _known(course, store, id)
    words = Words([person])
    for name, said in (("author", author), ("reason", reason)):
        if words.are_in(said):
            raise UsageError(f"--{name} names the person, and it stays", "say it without the name")
    return Wish(person, author.strip(), reason.strip(), datetime.now(UTC))


def _known(course: Course, store: Store, id: str) -> Known:
    found = known_people(course.roster).get(id)
    with store.reading() as session:
        row = session.scalar(select(StudentRow).where(StudentRow.id == id))
        name = row.name if row else found.name if found else ""
        numbers = (found.number, found.login) if found else ()
        return Known(id, name, found.email if found else "", tuple(filter(None, numbers)))


def forget(
    course_file: Path, course: Course, store: Store, wish: Wish, *, dry_run: bool = False
) -> Done:
    """Delete all that a course keeps of a person, or find what that would be."""
    person = wish.person
    words = Words([person])
    lists = _lists(course_file, course, person.id)
    done = _found(course, store, person.id, words)
    done.lists = [path.name for path in lists]
    if not dry_run and (wish.resumed or not done.is_nothing):
        begin(course, wish)
        remove_all(done.files)
        for path, data in lists.items():
            mode = path.stat().st_mode & 0o777
            write_file(path, data)
            path.chmod(mode)
        _forget_rows(store, wish, words)
        _overwrite(course)
    gone = {*done.files}
    others = [f for f in work_in(course) if not gone & {f, *f.parents}]
    done.left = naming(others, person.id, words)
    return done


def begin(course: Course, wish: Wish) -> None:
    """Note who is being forgotten, until ``end``."""
    journal = _journal(course)
    journal.parent.mkdir(mode=0o700, exist_ok=True)
    said = {**asdict(wish), "made": wish.made.isoformat()}
    draft = journal.with_suffix(".part")  # of one name, so that none is ever left over
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(json.dumps(said).encode())
        file.flush()
        os.fsync(file.fileno())
    draft.replace(journal)


def end(course: Course) -> None:
    """Take the note away, and what a run that was cut off left of one."""
    _journal(course).unlink(missing_ok=True)
    _journal(course).with_suffix(".part").unlink(missing_ok=True)


def forget_in_logs(logs: Sequence[Path], wish: Wish) -> list[str]:
    """Take a person out of log files; return the names of those that had named them."""
    words = Words([wish.person])
    return [log.name for log in logs if log_without(log, words)]


def _journal(course: Course) -> Path:
    return course.folder / OWN / JOURNAL


def _lists(course_file: Path, course: Course, id: str) -> dict[Path, bytes]:
    """Return what the roster and course.toml become, where they name the student."""
    found: dict[Path, bytes] = {}
    before = course_file.read_text(encoding="utf-8-sig")
    if (after := course_without(before, id)) != before:
        found[course_file] = after.encode()
    if course.roster.is_file() and (left := roster_without(course.roster, id)) is not None:
        found[course.roster] = left
    return found


def _found(course: Course, store: Store, id: str, words: Words) -> Done:
    with store.reading() as session:
        connection = session.connection()
        own = owned(connection, id)
        named = mentions(connection, own, id, words)
    handed_in = [str(row["path"]) for row in own.rows["hand_ins"].values()]
    files = [*folders_of(course, id, handed_in), *waiting_of(course, id)]
    return Done(own.counts, len(named), files)


def _forget_rows(store: Store, wish: Wish, words: Words) -> None:
    """Delete the rows, and say that somebody was forgotten: once, however often this runs."""
    with store.writing() as session:
        connection = session.connection()
        own = owned(connection, wish.person.id)
        named = mentions(connection, own, wish.person.id, words)
        remove(connection, own, named)
        said = select(ForgettingRow.id).where(ForgettingRow.made == wish.made)
        if session.scalar(said) is None:
            row = ForgettingRow(author=wish.author, reason=wish.reason, made=wish.made)
            session.add(row)


def _overwrite(course: Course) -> None:
    """Let the database give back what the rows had filled: deleted rows can be read until then."""
    url = located(course.database, course.folder)
    with explained(url):
        engine = connect(url, WAIT_SECONDS)
        try:
            if file_of(url) is None:
                engine = engine.execution_options(isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                if connection.dialect.name == "sqlite":
                    driver = connection.connection.driver_connection
                    assert driver is not None
                    for line in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                        driver.execute(line)
                else:
                    connection.execute(text("VACUUM"))
        finally:
            engine.dispose()


def in_copy(course_file: Path, wish: Wish) -> Done:
    """Forget a person in a copy of a course, and in nothing that lies outside of its folder."""
    course = load_course(course_file)
    if not course.roster.resolve().is_relative_to(course.folder.resolve()):
        course = replace(course, roster=course.folder / "no-roster.csv")
    with Store.open(course.database, course.folder) as store:
        return forget(course_file, course, store, replace(wish, resumed=False))
