"""Who hands in what in the rehearsal, and what that should earn.

What is expected comes from the files alone, never from a grading: a stub has no mark, hostile code
earns nothing, right answers all of it, and a wrong one loses exactly what its docstring names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from grader.labs.documents.submission import PSEUDOCODE_NAME
from grader.labs.lab import PSEUDOCODE, Lab
from grader.prove.answers.edits import build
from grader.prove.files import fails_line, solution, variants, wrong_answers

HOSTILE = {
    "leaves at import": "import os\nos._exit(0)\n",
    "crashes at import": "import ctypes\nctypes.string_at(0)\n",
    "no Python": "def rms_norm(x:\n",
    "forges a report": (
        'import os, sys\nprint(\'["test", {"verdict": "passed", "score": 100}]\', flush=True)\n'
        "os.write(1, b'100 of 100 points\\n')\nsys.exit(0)\n"
    ),
    "takes all memory": "hoard = []\nwhile True:\n    hoard.append(bytearray(1 << 28))\n",
    "starts processes": "import os\nwhile True:\n    os.fork()\n",
}


class Kind(StrEnum):
    """What a student hands in."""

    STUB = "stub"
    SOLUTION = "solution"
    SOLUTION_ALONE = "solution without pseudocode"
    VARIANT = "variant"
    VARIANT_ALONE = "variant without pseudocode"
    WRONG = "wrong"
    HOSTILE = "hostile"
    LATE = "solution, and a stub too late"
    NOTES = "solution, and notes too late"
    LATE_SOLUTION = "stub, and the solution a day late"
    NOTHING = "nothing"


# One of twelve each; a student does something else in each lab.
CYCLE = (
    *(Kind.SOLUTION, Kind.WRONG, Kind.STUB, Kind.VARIANT, Kind.HOSTILE, Kind.LATE),
    *(Kind.SOLUTION_ALONE, Kind.NOTES, Kind.VARIANT_ALONE, Kind.WRONG, Kind.LATE_SOLUTION),
    Kind.WRONG,
)
PER_DAY = 0.1  # what a late day costs in the rehearsal's course


@dataclass(frozen=True, slots=True)
class Answer:
    """One student's files in one lab; ``loses`` are tasks, each of which must lose something."""

    student: str
    lab: Lab
    kind: Kind
    source: str  # which file it was made from
    files: Mapping[str, bytes]
    loses: frozenset[str]
    loses_all: bool = False  # of those tasks, not just something
    late_files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])  # committed after it

    @property
    def is_nothing(self) -> bool:
        """True for who hands in nothing, or what was given out."""
        return self.kind in (Kind.NOTHING, Kind.STUB)

    @property
    def kept(self) -> float:
        """The share of the points that lateness leaves."""
        return 1 - PER_DAY if self.kind is Kind.LATE_SOLUTION else 1.0

    @property
    def full(self) -> float:
        """What the tasks that it must earn are worth."""
        earned = sum(task.points for task in self.lab.tasks if task.id not in self.loses)
        return round(earned * self.kept, 4)

    @property
    def expected(self) -> str:
        """What the mark must be, in words."""
        if self.is_nothing:
            return "none"
        return f"{self.full:g}" if self.loses_all or not self.loses else f"{self.full:g} or more"


def answers_of(lab: Lab, students: list[str], shift: int) -> list[Answer]:
    """Return what each student hands in; the last one has no branch."""
    counts = dict.fromkeys(Kind, 0)
    found: list[Answer] = []
    for place, student in enumerate(students):
        kind = CYCLE[(place + shift) % len(CYCLE)]
        if student == students[-1]:
            kind = Kind.NOTHING
        found.append(_answer(lab, student, kind, counts[kind] + shift))
        counts[kind] += 1
    return found


def _answer(lab: Lab, student: str, kind: Kind, count: int) -> Answer:
    every = frozenset(task.id for task in lab.tasks)
    words = (lab.solutions / PSEUDOCODE_NAME).read_bytes()
    prompts = lab.pseudocode.read_bytes()
    right = solution(lab)
    match kind:
        case Kind.NOTHING:
            return Answer(student, lab, kind, "", {}, every, True)
        case Kind.STUB:
            files = _files(lab, lab.stub.read_bytes(), prompts)
            return Answer(student, lab, kind, lab.stub.name, files, every, True)
        case Kind.HOSTILE:
            name = [*HOSTILE][count % len(HOSTILE)]
            code = HOSTILE[name].encode() + right.read_bytes()
            return Answer(student, lab, kind, name, _files(lab, code, prompts), every, True)
        case Kind.WRONG:
            choice = wrong_answers(lab)
            file = choice[count * 7 % len(choice)]
            loses = fails_line(lab, file)[0] | {PSEUDOCODE}
            files = _files(lab, build(file).encode(), prompts)
            return Answer(student, lab, kind, f"wrong/{file.name}", files, loses)
        case Kind.VARIANT | Kind.VARIANT_ALONE:
            choice = variants(lab)
            file, name = choice[count % len(choice)], "variants/"
        case _:
            file, name = right, ""
    late: dict[str, bytes] = {}
    if kind is Kind.LATE:
        late = _files(lab, lab.stub.read_bytes(), words)
    elif kind is Kind.NOTES:
        late = {f"labs/{lab.name}/notes.md": b"done in time\n"}
    elif kind is Kind.LATE_SOLUTION:
        late = _files(lab, right.read_bytes(), words)
        stub = _files(lab, lab.stub.read_bytes(), prompts)
        return Answer(student, lab, kind, file.name, stub, frozenset(), True, late)
    alone = kind in (Kind.SOLUTION_ALONE, Kind.VARIANT_ALONE)
    loses = frozenset({PSEUDOCODE}) if alone else frozenset[str]()
    files = _files(lab, file.read_bytes(), prompts if alone else words)
    return Answer(student, lab, kind, name + file.name, files, loses, True, late)


def _files(lab: Lab, code: bytes, words: bytes) -> dict[str, bytes]:
    """Lay files out as the published tree has them."""
    folder = Path("labs") / lab.name
    return {str(folder / lab.code_name): code, str(folder / PSEUDOCODE_NAME): words}


def mismatch(answer: Answer, report: Mapping[str, object] | None, points: float | None) -> str:
    """Return what differs between a mark and what its source should earn, or an empty string."""
    if answer.is_nothing:
        return "" if points is None else f"has {points:g} points for nothing"
    if points is None or report is None:
        return "has no mark"
    tasks = {str(task["id"]): task for task in report["tasks"]}  # type: ignore[attr-defined]
    earned = {name: float(task["score"]) for name, task in tasks.items()}
    if abs(sum(earned.values()) * answer.kept - points) > 1e-6:
        return f"the mark {points:g} is not {answer.kept:g} of the sum of its tasks"
    for task in answer.lab.tasks:
        score = earned.get(task.id, -1.0)
        if task.id not in answer.loses and abs(score - task.points) > 1e-6:
            return f"{task.id} earned {score:g} of {task.points:g}"
        if task.id in answer.loses and not 0 <= score < task.points - 1e-6:
            return f"{task.id} lost nothing"
        if task.id in answer.loses and answer.loses_all and score:
            return f"{task.id} earned {score:g}, not 0"
    return ""
