"""What people decided about answers that are alike: notes that only grow, for the staff alone.

A note names answers by who wrote what, so it is there again after the next comparison, and not for
an answer that was changed since. No note changes a mark.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from grader.course.database.records import Likeness
from grader.course.database.store import Store
from grader.course.likeness.clusters import Cluster, Source
from grader.course.likeness.similarity import Comparison
from grader.extras import needs

with needs("course"):
    from sqlalchemy import delete, select

    from grader.course.database.likeness_tables import ComparisonRow, LikenessNoteRow


class State(StrEnum):
    """How far people are with what is alike."""

    OPEN = "open"
    NO_MATTER = "no matter"
    TO_TALK = "to be talked about"
    CONFIRMED = "confirmed"


@dataclass(frozen=True, slots=True)
class Note:
    """A person's word on some answers."""

    lab: str
    members: tuple[str, ...]  # keys of the answers
    about: str  # whose they are, for people: "s17, s18"
    state: State
    author: str
    text: str
    made: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """Where people are with a cluster or a pair, and what was said of it, oldest first."""

    state: State
    is_whole: bool  # False: what was decided is of a part of it
    notes: Sequence[Note]

    @property
    def line(self) -> str:
        """The state, in words."""
        return self.state if self.is_whole else f"{self.state} for some of them, open for all"

    @property
    def is_open(self) -> bool:
        """Whether somebody should still look."""
        return self.state is State.OPEN or not self.is_whole


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer that was compared; ``path`` starts at the course's folder unless it is absolute."""

    name: str
    is_student: bool
    key: str
    path: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The newest comparison of a lab, as pages show it."""

    lab: str
    made: datetime
    threshold: float
    answers: Sequence[KeptAnswer]
    clusters: Sequence[Cluster]
    told: Sequence[str]  # what was cut, or may hide something
    left_out: Sequence[str]

    @property
    def students(self) -> int:
        """How many answers of students were compared."""
        return sum(answer.is_student for answer in self.answers)

    def keys(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the keys of answers by name, in order; those not compared have none."""
        known = {answer.name: answer.key for answer in self.answers}
        return tuple(sorted({known[name] for name in names if name in known}))

    def standing(self, names: Iterable[str], notes: Iterable[Note]) -> Standing:
        """Return where people are with some answers."""
        return standing(self.keys(names), notes)


def standing(members: Sequence[str], notes: Iterable[Note]) -> Standing:
    """Return where people are with some answers: the newest note about all of them holds.

    Where none is about all of them, the newest about two or more is told, as one of a part.
    """
    wanted = {*members}
    own = [note for note in notes if len(wanted & {*note.members}) >= 2]
    whole = [note for note in own if wanted <= {*note.members}]
    newest = whole or own
    return Standing(newest[-1].state if newest else State.OPEN, bool(whole) or not own, own)


def kept(lab: str, found: Comparison, threshold: float, made: datetime, folder: str) -> Kept:
    """Return what is kept of a comparison; paths below ``folder`` are kept without it."""
    answers = [
        KeptAnswer(
            answer.name, answer.is_student, answer.key, str(answer.file).removeprefix(f"{folder}/")
        )
        for answer in found.answers
    ]
    return Kept(lab, made, threshold, answers, found.clusters, found.told, found.left_out)


def put_comparison(store: Store, found: Kept) -> None:
    """Let it take the place of the one before."""
    data: dict[str, object] = {
        "threshold": found.threshold,
        "answers": [asdict(answer) for answer in found.answers],
        "clusters": [asdict(cluster) for cluster in found.clusters],
        "told": [*found.told],
        "left_out": [*found.left_out],
    }
    with store.writing() as session:
        session.execute(delete(ComparisonRow).where(ComparisonRow.lab == found.lab))
        session.add(ComparisonRow(lab=found.lab, made=found.made, found=data))


def comparison(store: Store, lab: str) -> Kept | None:
    """Return the newest comparison of a lab; None if there is none."""
    with store.reading() as session:
        row = session.get(ComparisonRow, lab)
        return None if row is None else _kept(lab, row.made, row.found)


def add_note(store: Store, note: Note) -> None:
    """Record a person's word."""
    with store.writing() as session:
        values = asdict(note) | {"state": note.state.value, "members": note.members}
        session.add(LikenessNoteRow(**values))


def notes(store: Store, lab: str) -> list[Note]:
    """List what was said of a lab's answers, oldest first."""
    rows = select(LikenessNoteRow).where(LikenessNoteRow.lab == lab).order_by(LikenessNoteRow.id)
    with store.reading() as session:
        return [
            Note(
                *(row.lab, row.members, row.about, State(row.state), row.author),
                *(row.text, row.made),
            )
            for row in session.scalars(rows)
        ]


def _kept(lab: str, made: datetime, found: Mapping[str, Any]) -> Kept:
    return Kept(
        lab=lab,
        made=made,
        threshold=found["threshold"],
        answers=[KeptAnswer(**answer) for answer in found["answers"]],
        clusters=[_cluster(cluster) for cluster in found["clusters"]],
        told=found["told"],
        left_out=found["left_out"],
    )


def _cluster(data: Mapping[str, Any]) -> Cluster:
    values: dict[str, Any] = dict(data)
    values["strongest"] = Likeness(**data["strongest"])
    values["sources"] = [Source(**source) for source in data["sources"]]
    return Cluster(**values)
