"""Answers that are alike beyond what everyone was given: copydetect, with the stub as boilerplate.

copydetect compares code by its tokens: names, comments, strings and layout do not count. What it
finds is a reason to look, never a verdict: short right answers resemble each other by nature.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.database.records import Frozen, Likeness
from grader.course.gradebook.lexing import Unread, significant_parts
from grader.errors import JudgeError
from grader.extras import needs
from grader.labs.lab import Lab

with needs("course"):
    import numpy as np
    from copydetect.utils import get_copied_slices, get_document_fingerprints

NOISE = 25  # characters of filtered code: what is shorter than this is no copy
# Every fingerprint is kept, not one of a window: which one would differ from process to process.
WINDOW = 1
FEWEST = 300  # characters of shared code, below which a likeness means nothing
LONGEST = 256 << 10  # bytes of an answer that are compared
# Our own answers to labs 01 to 05 share at most 35 % of their code, renamed copies nearly all.
THRESHOLD = 0.6


@dataclass(frozen=True, slots=True)
class Answer:
    """A file to compare; ``name`` is a student's id, or what a model answer is called."""

    name: str
    is_student: bool
    file: Path


@dataclass(frozen=True, slots=True)
class Print:
    """The fingerprints of an answer that are its own, by value and by place in the code."""

    values: Any  # [N] int64
    places: Any  # [N] int64
    known: Any  # [M] int64, the values in order, each once
    tokens: int  # characters of code that they cover


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was compared, what is alike, and who could not be compared and why."""

    students: int
    models: int
    found: Sequence[Likeness]
    left_out: Sequence[str]


def compare_class(
    lab: Lab, frozen: Iterable[Frozen], folder: Path, threshold: float = THRESHOLD
) -> Comparison:
    """Compare all students with each other and with the model answers; highest shares first.

    A relative path of what was collected starts at ``folder``.
    """
    students: list[Answer] = []
    left_out: list[str] = []
    for item in frozen:
        # A remark may stand beside what was collected; without a path there is nothing.
        file = code_file(lab, folder / item.path) if item.path else None
        if file is None:
            left_out.append(f"{item.student}: {item.problem or f'no {lab.code_name}'}")
        elif file.stat().st_size > LONGEST:
            left_out.append(f"{item.student}: {lab.code_name} is larger than {LONGEST >> 10} KiB")
        else:
            students.append(Answer(item.student, True, file))
    models = model_answers(lab)
    given = _values([lab.stub, *lab.given_files])
    prints: list[tuple[Answer, Print]] = []
    answers = [*students, *models]
    for answer, part in zip(answers, _parts([item.file for item in answers]), strict=True):
        if isinstance(part, str):
            prints.append((answer, _print(part, given)))
        elif answer.is_student:
            left_out.append(f"{answer.name}: {part.why}")
        else:
            raise JudgeError(f"{answer.name} cannot be compared: {part.why}")
    pairs = itertools.combinations(prints, 2)
    found = [
        likeness
        for (one, first), (other, second) in pairs
        if one.is_student
        and (likeness := _compare(lab.name, one, first, other, second)) is not None
        and likeness.highest >= threshold
    ]
    found.sort(key=lambda likeness: (-likeness.highest, likeness.student, likeness.other))
    compared = sum(answer.is_student for answer, _ in prints)
    return Comparison(compared, len(models), found, left_out)


def code_file(lab: Lab, folder: Path) -> Path | None:
    """The answer's code in a folder that was collected; None if there is none."""
    for inner in (Path(lab.name), Path("labs", lab.name), Path()):
        file = folder / inner / lab.code_name
        if file.is_file() and not file.is_symlink():
            return file
    return None


def model_answers(lab: Lab) -> list[Answer]:
    """The solution and its variants."""
    files = [lab.solutions / lab.code_name, *sorted((lab.solutions / "variants").glob("*.py"))]
    shown = {file: str(file.relative_to(lab.solutions.parent)) for file in files if file.is_file()}
    return [Answer(name, False, file) for file, name in shown.items()]


def _values(files: Iterable[Path]) -> set[int]:
    """The fingerprints of what a student was given: they are nobody's."""
    found: set[int] = set()
    for part in _parts(list(files)):
        if isinstance(part, Unread):
            raise JudgeError(f"what students were given cannot be compared: {part.why}")
        found |= get_document_fingerprints(part, NOISE, WINDOW)[0]
    return found


def _parts(files: Sequence[Path]) -> list[str | Unread]:
    """What counts of each file."""
    return significant_parts([file.read_bytes().decode("utf-8", "replace") for file in files])


def _print(part: str, given: set[int]) -> Print:
    # Not by copydetect: it takes what occurs twice in a file for boilerplate.
    places_of = get_document_fingerprints(part, NOISE, WINDOW)[1]
    own = {value: at for value, at in places_of.items() if value not in given}
    values = np.array([value for value, at in own.items() for _ in at], dtype=np.int64)
    places = np.array([place for at in own.values() for place in at], dtype=np.int64)
    return Print(values, places, np.unique(values), _covered(places))


def _covered(places: Any) -> int:
    starts, ends = get_copied_slices(places, NOISE)
    return int(np.sum(ends - starts))


def _shared(one: Print, other: Print) -> int:
    """How many characters of one's code lie under fingerprints that the other has too."""
    if not len(one.values) or not len(other.known):
        return 0
    at = np.searchsorted(other.known, one.values)
    found = other.known[np.minimum(at, len(other.known) - 1)] == one.values
    return _covered(one.places[found])


def _compare(lab: str, one: Answer, first: Print, other: Answer, second: Print) -> Likeness | None:
    tokens = _shared(first, second)
    if tokens < FEWEST:
        return None
    shares = tokens / first.tokens, _shared(second, first) / second.tokens
    return Likeness(lab, one.name, other.name, other.is_student, *shares, tokens)
