"""Rubrics: what readers gave, where they differ, and when their points enter the mark.

A criterion is settled when as many readers as the lab asks for gave the same, or somebody said the
last word. What is settled of all criteria of a task stands in place of the machine's points; until
then, and where readers come to differ later, what held before holds on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grader.course.database.records import Correction, Score
from grader.course.reading.points import points_of
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.labs.task import Criterion
from grader.text import number, visible_line


@dataclass(frozen=True, slots=True)
class Read:
    """A criterion, the newest points of each reader, and the last word, if somebody said one."""

    criterion: Criterion
    by: Mapping[str, Score]
    last: Score | None
    readers: int  # that the lab asks for

    @property
    def differs(self) -> bool:
        """Whether readers gave different points, and nobody has settled that."""
        return self.last is None and len({each.points for each in self.by.values()}) > 1

    @property
    def points(self) -> float | None:
        """What is settled; None: nothing yet."""
        if self.last is not None:
            return self.last.points
        if self.differs or len(self.by) < self.readers:
            return None
        return next(iter(self.by.values())).points

    @property
    def state(self) -> str:
        """Say how far it is: "1 of 2 readers", "readers differ", "settled: 2 of 3"."""
        if self.points is not None:
            return f"settled: {number(self.points)} of {number(self.criterion.points)}"
        if self.differs:
            return "readers differ: somebody settles it"
        return f"{len(self.by)} of {self.readers} readers"


def read_by(lab: Lab, scores: Sequence[Score]) -> list[Read]:
    """Return what became of each criterion of a lab in one work, whose scores come in order."""
    found: list[Read] = []
    for criterion in lab.rubric:
        own = [each for each in scores if each.criterion == criterion.id]
        by = {each.author: each for each in own if not each.settles}
        last = [each for each in own if each.settles]
        found.append(Read(criterion, by, last[-1] if last else None, lab.readers))
    return found


def checked_score(lab: Lab, criterion: str, text: str) -> float:
    """Return the points of a criterion as typed; raises UsageError."""
    return points_of(text, criterion_of(lab, criterion).points, f"the criterion {criterion}")


def criterion_of(lab: Lab, id: str) -> Criterion:
    """Return a criterion of a lab's rubric; raises UsageError."""
    for each in lab.rubric:
        if each.id == id:
            return each
    known = ", ".join(each.id for each in lab.rubric) or "none: [[rubric]] of lab.toml has them"
    raise UsageError(f"there is no criterion {visible_line(id, 100)!r}", f"known: {known}")


def settling(lab: Lab, new: Score) -> Callable[[Sequence[Score]], list[Correction]]:
    """Return what makes points of a work's scores, once ``new``, the last of them, is there.

    It raises UsageError where ``new`` settles what nobody differs in.
    """

    def settle(scores: Sequence[Score]) -> list[Correction]:
        before, after = read_by(lab, scores[:-1]), read_by(lab, scores)
        [at] = [each for each in after if each.criterion.id == new.criterion]
        if new.settles and len(at.by) < lab.readers:
            told = f"{len(at.by)} of {lab.readers} readers gave points for {new.criterion}"
            raise UsageError(told, "it is settled when all have read it")
        task = at.criterion.task
        total = _total(after, task)
        if total is None or _points(before, task) == _points(after, task):
            return []
        key = new.student, new.lab, new.commit
        return [Correction(*key, task, total, new.author, _reason(after, task), new.made)]

    return settle


def _points(found: Sequence[Read], task: str) -> list[float | None]:
    return [each.points for each in found if each.criterion.task == task]


def _total(found: Sequence[Read], task: str) -> float | None:
    points = [each for each in _points(found, task) if each is not None]
    return sum(points) if len(points) == len(_points(found, task)) else None


def _reason(found: Sequence[Read], task: str) -> str:
    own = [each for each in found if each.criterion.task == task]
    parts = [
        f"{each.criterion.title} {number(each.points or 0.0)} of {number(each.criterion.points)}"
        for each in own
    ]
    readers = sorted({author for each in own for author in each.by})
    return f"by the rubric: {', '.join(parts)}; read by {', '.join(readers)}"
