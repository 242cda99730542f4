"""Answers that are alike beyond what everyone was given: copydetect, with the stub as boilerplate.

copydetect compares code by its tokens: names, comments, strings and layout do not count. What it
finds is a reason to look, never a verdict: short right answers resemble each other by nature.
"""

import io
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.records import Frozen, Likeness
from grader.extras import needs
from grader.lab import Lab

with needs("course"):
    from copydetect import CodeFingerprint, compare_files
    from copydetect.utils import get_token_coverage

NOISE = 25  # characters of filtered code: what is shorter than this is no copy
WINDOW = 6  # of these, one fingerprint is kept: a copy of NOISE + WINDOW - 1 is always found
FEWEST = 300  # characters of shared code, below which a likeness means nothing
LONGEST = 256 << 10  # bytes of an answer that are compared
# Our own answers to labs 01 to 05 share at most a third of their code, renamed copies nearly all.
THRESHOLD = 0.6


@dataclass(frozen=True, slots=True)
class Answer:
    """A file to compare; ``name`` is a student's id, or what a model answer is called."""

    name: str
    is_student: bool
    file: Path


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
        else:
            students.append(Answer(item.student, True, file))
    models = model_answers(lab)
    given = _hashes([lab.stub, *lab.given_files])
    prints = [(answer, _print(answer.file, given)) for answer in (*students, *models)]
    pairs = itertools.combinations(prints, 2)
    found = [
        likeness
        for (one, first), (other, second) in pairs
        if one.is_student
        and (likeness := _compare(lab.name, one, first, other, second)) is not None
        and likeness.highest >= threshold
    ]
    found.sort(key=lambda likeness: (-likeness.highest, likeness.student, likeness.other))
    return Comparison(len(students), len(models), found, left_out)


def code_file(lab: Lab, folder: Path) -> Path | None:
    """The answer's code in a folder that was collected; None if there is none of a fit size."""
    for inner in (Path(lab.name), Path("labs", lab.name), Path()):
        file = folder / inner / lab.code_name
        if file.is_file() and not file.is_symlink():
            return file if file.stat().st_size <= LONGEST else None
    return None


def model_answers(lab: Lab) -> list[Answer]:
    """The solution and its variants."""
    files = [lab.solutions / lab.code_name, *sorted((lab.solutions / "variants").glob("*.py"))]
    shown = {file: str(file.relative_to(lab.solutions.parent)) for file in files if file.is_file()}
    return [Answer(name, False, file) for file, name in shown.items()]


def _hashes(files: Iterable[Path]) -> set[int]:
    """What a student was given: it is nobody's."""
    # Every fingerprint, not one of a window: a copy must not escape by its surroundings.
    return {mark for file in files for mark in _read(file, 1).hashes}


def _read(file: Path, window: int) -> Any:
    text = file.read_bytes().decode("utf-8", "replace")
    return CodeFingerprint(str(file), NOISE, window, language="python", fp=io.StringIO(text))


def _print(file: Path, given: set[int]) -> Any:
    found = _read(file, WINDOW)
    # Not by copydetect: it takes what occurs twice in a file for boilerplate.
    found.hashes -= given
    found.hash_idx = {mark: found.hash_idx[mark] for mark in found.hashes}
    found.token_coverage = get_token_coverage(found.hash_idx, NOISE, len(found.filtered_code))
    return found


def _compare(lab: str, one: Answer, first: Any, other: Answer, second: Any) -> Likeness | None:
    tokens, (share, other_share), _ = compare_files(first, second)
    if tokens < FEWEST:
        return None
    shares = min(1.0, float(share)), min(1.0, float(other_share))
    return Likeness(lab, one.name, other.name, other.is_student, *shares, int(tokens))
