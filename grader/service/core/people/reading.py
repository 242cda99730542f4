"""What the staff reads and says of work: rows with who said them and when, and nothing decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from grader.course.config import Course
from grader.course.database.records import Attempt, Comment, Correction, Frozen, Score
from grader.course.reading.comments import Place, Said, open_comment, said
from grader.course.reading.points import checked_points, holding
from grader.course.reading.rubric import Read, checked_score, read_by, settling
from grader.course.reading.work import collected
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.service.domain.records import HandIn, Role, Who, number_of
from grader.service.domain.refusals import NotFound
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store


class Collected(Protocol):
    """What was collected without the service; the course database has it."""

    def collections(self, lab: str) -> Sequence[Frozen]:
        """All that was ever collected of a lab, oldest first for each student."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """A student's work in a lab: what was handed in, and its newest grading, if it has one."""

    student: str
    lab: Lab
    commit: str  # as the gradebook knows it
    item: HandIn | None  # None: it was collected from a repository
    attempt: Attempt | None
    files: dict[str, bytes]

    @property
    def key(self) -> tuple[str, str, str]:
        """Student, lab and commit."""
        return self.student, self.lab.name, self.commit


@dataclass(frozen=True, slots=True)
class Given:
    """A reader's points for a criterion, as typed."""

    points: str
    reason: str
    settles: bool


class Readers:
    """Finds work, and records what people say of it."""

    def __init__(self, course: Course, store: Store, books: Collected, clock: Clock) -> None:
        self._course = course
        self._store = store
        self._books = books
        self._clock = clock

    def work(self, lab: Lab, student: str, commit: str) -> Work:
        """Return a student's work; raises NotFound if there is none of that name."""
        if student not in {each.id for each in self._store.students()}:
            raise NotFound("there is no such student")
        graded = [
            each
            for each in self._store.attempts(lab.name, student)
            if each.commit == commit and not each.infra
        ]
        item = self._hand_in(commit, student, lab)
        kept = [each for each in self._books.collections(lab.name) if each.student == student]
        files = collected(self._course, lab, commit, kept)
        if not (graded or item or files):
            raise NotFound("there is no such work")
        return Work(student, lab, commit, item, graded[-1] if graded else None, files)

    def said(self, work: Work) -> list[Said]:
        """List the comments on work, those that were taken back too, oldest first."""
        return said(self._store.reading.comments(work.lab.name, work.student), work.commit)

    def comment(self, who: Who, work: Work, place: Place, text: str) -> None:
        """Say something of work, which its student reads."""
        now = self._clock.now()
        about = (place.task, place.file, place.line)
        self._store.reading.add_comment(Comment(*work.key, who.name, text, now, *about))

    def withdraw(self, who: Who, number: int, reason: str) -> Comment:
        """Take a comment back: its author does, or an instructor. Raises UsageError, NotFound."""
        found = open_comment(self._store.reading.comments(), number)
        if who.role is not Role.INSTRUCTOR and found.author != who.name:
            hint = "its author or an instructor withdraws it"
            raise UsageError("this comment is not yours", hint)
        key = found.student, found.lab, found.commit
        word = Comment(*key, who.name, reason, self._clock.now(), withdraws=number)
        self._store.reading.add_comment(word)
        return found

    def correct(self, who: Who, work: Work, task: str, points: str, reason: str) -> None:
        """Give a task points by hand, or take them back; raises UsageError."""
        given = checked_points(work.lab, task, points)
        own = [each for each in self.corrections(work) if each.task == task]
        if given is None and not holding(own, work.commit):
            raise UsageError(f"{task} has no points by hand", "so none can be taken back")
        now = self._clock.now()
        word = Correction(*work.key, task, given, who.name, reason, now)
        self._store.reading.add_correction(word)

    def rubric(self, work: Work) -> list[Read]:
        """Return what readers gave for each criterion of the lab."""
        found = self._store.reading.scores(work.lab.name, work.student)
        return read_by(work.lab, [each for each in found if each.commit == work.commit])

    def score(self, who: Who, work: Work, criterion: str, form: Given) -> None:
        """Give points for a criterion, or the last word on it; raises UsageError."""
        given = checked_score(work.lab, criterion, form.points)
        said = (who.name, form.reason, self._clock.now(), form.settles)
        new = Score(*work.key, criterion, given, *said)
        self._store.reading.add_scores([new], settling(work.lab, new))

    def corrections(self, work: Work) -> list[Correction]:
        """List what people said of the points of work, oldest first."""
        found = self._store.reading.corrections(work.student)
        return [each for each in found if (each.lab, each.commit) == (work.lab.name, work.commit)]

    def _hand_in(self, commit: str, student: str, lab: Lab) -> HandIn | None:
        count = number_of(commit)
        if not count or len(count) > 9:
            return None
        item = self._store.hand_in(int(count))
        return item if item and (item.student, item.lab) == (student, lab.name) else None
