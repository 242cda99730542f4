"""What the course database holds, as frozen data. Every moment is a datetime that knows its zone.

Nothing here knows how it is stored, so marks and exports are functions of plain values.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

HAND_INS = "hand-ins"  # beside course.toml: the files of what the grading service took in
SERVICE = "service"  # the note of the run in which the grading service records, one of each lab
AFTER_DEADLINE = "after-deadline"  # of that in which it lets hidden tests judge, one of each lab
REGRADE = "regrade"  # of one that counts for nothing before somebody has published it
OF_SERVICE = (SERVICE, AFTER_DEADLINE, REGRADE)
INFRA_EXIT = 3  # of a grading that failed by our fault


@dataclass(frozen=True, slots=True)
class Student:
    """One line of the roster; ``repository`` is empty where all use the course's remote."""

    id: str
    name: str
    repository: str
    branch: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a student had handed in when it was collected; ``problem`` says why there is nothing."""

    student: str
    lab: str  # such as "01_llama"
    commit: str
    committed: datetime | None  # since when the branch had these files, by its own dates
    collected: datetime
    path: str  # the folder with the allow-listed files, from that of the course
    problem: str = ""
    until: datetime | None = None  # up to when a commit could be dated; None: no deadline was known


@dataclass(frozen=True, slots=True)
class Remark:
    """What a collection gave a person to look at, for the staff alone; "" takes back the last."""

    student: str
    lab: str
    text: str
    made: datetime


@dataclass(frozen=True, slots=True)
class Run:
    """One grading of a class in one lab, or of some ``students`` of it."""

    id: str
    lab: str
    started: datetime
    note: str = ""
    students: tuple[str, ...] = ()  # in order; none: the whole class


@dataclass(frozen=True, slots=True)
class Attempt:
    """One grading of one commit; ``report`` is the report JSON, provenance included."""

    student: str
    lab: str
    run: str
    commit: str
    submitted: datetime | None
    graded: datetime
    seconds: float
    points: float  # 0 to ``possible``
    possible: float  # what the machine could judge, at most 100
    exit_code: int
    report: Mapping[str, object] = field(repr=False)
    suite: str = "all"  # that judged it, or "public"
    row: int | None = field(default=None, compare=False)  # its place among all, once recorded

    @property
    def infra(self) -> bool:
        """True if the grading failed by our fault, so that it says nothing of the submission."""
        return self.exit_code == INFRA_EXIT


class Kind(StrEnum):
    """What somebody said of a regrade; it is published or discarded once, and never both."""

    ASKED = "asked"
    PUBLISHED = "published"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's word on a run that is a regrade; never changed."""

    run: str
    kind: Kind
    author: str
    reason: str
    made: datetime


@dataclass(frozen=True, slots=True)
class Override:
    """A person's word on a mark, kept through regrades; ``points`` None takes it back."""

    student: str
    lab: str
    points: float | None
    author: str
    reason: str
    made: datetime
    # The row of the newest attempt that it was said of, 0 of none; None: nobody kept that.
    after: int | None = field(default=None, compare=False)

    def is_of(self, attempt: Attempt) -> bool:
        """Whether an attempt was there when it was said; a clock tells where no rows do."""
        if self.after is None or attempt.row is None:
            return attempt.graded <= self.made
        return attempt.row <= self.after


class GrantKind(StrEnum):
    """What staff may grant a student in a lab."""

    EXTENSION = "extension"
    WAIVER = "waiver"  # lateness costs nothing


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's word on a student's time in a lab; the newest of its kind holds, or ends it."""

    student: str
    lab: str
    kind: GrantKind
    until: datetime | None  # of an extension
    holds: bool  # False takes back what was granted before
    author: str
    reason: str
    made: datetime

    @property
    def number(self) -> int:
        """The lab's number, by which course.toml names it."""
        return int(self.lab[:2])


@dataclass(frozen=True, slots=True)
class Likeness:
    """Two answers that share much of their code beyond the stub, or one and a model answer."""

    lab: str
    student: str
    other: str  # another student's id, or the path of a model answer
    is_student: bool  # what ``other`` is
    share: float  # of the student's own code that is also the other's, 0 to 1
    other_share: float  # of the other's code that is also the student's, 0 to 1
    tokens: int  # characters of code that they share, names and comments left aside

    @property
    def highest(self) -> float:
        """The larger of both shares, by which likenesses are sorted and flagged."""
        return max(self.share, self.other_share)


@dataclass(frozen=True, slots=True)
class Comment:
    """A word of the staff on a student's work, which the student reads; never changed.

    It is on all of the work, on a ``task`` of it, or on a ``line`` of one ``file``. One with
    ``withdraws`` takes back the comment of that number, and its text says why.
    """

    student: str
    lab: str
    commit: str  # as the gradebook knows the work
    author: str
    text: str
    made: datetime
    task: str = ""
    file: str = ""
    line: int | None = None  # from 1
    withdraws: int | None = None
    number: int | None = field(default=None, compare=False)  # once recorded


@dataclass(frozen=True, slots=True)
class Correction:
    """A person's word on the points of one task of a student's work; None takes it back.

    The newest of a task holds, for every grading of that work.
    """

    student: str
    lab: str
    commit: str
    task: str
    points: float | None
    author: str
    reason: str
    made: datetime
    # The row of the newest grading of the work that it was said of, 0 of none.
    after: int | None = field(default=None, compare=False)

    def is_of(self, attempt: Attempt) -> bool:
        """Whether a grading was there when it was said; a clock tells where no rows do."""
        if self.after is None or attempt.row is None:
            return attempt.graded <= self.made
        return attempt.row <= self.after


@dataclass(frozen=True, slots=True)
class Score:
    """A reader's points for one criterion of a rubric; the newest of each reader holds.

    One that ``settles`` is somebody's last word where readers differ.
    """

    student: str
    lab: str
    commit: str
    criterion: str
    points: float
    author: str
    reason: str
    made: datetime
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """Somebody has read a student's work."""

    student: str
    lab: str
    commit: str
    author: str
    made: datetime
