"""What a file of ``tests/submissions`` says in its docstring about its own grading.

``Expect:`` is followed by a line for each task with the verdicts of its tests in the order of the
manifest, repetitions once (``a|b`` where the machine decides), by ``score:``, and by any number of
``says:`` lines, each a text that some message must contain. Rules that are kept are left out.
"""

import ast
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from grader.results import Report, Verdict

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "submissions"
TASKS = ("scale", "store", "loop")  # a file that expects nothing of the last two is graded on one
CLOCK = HERE / "clock"
RANKS = HERE / "ranks"
OTHER_TASKS = {"clock": ("right", "speed"), "ranks": ("total", "part")}  # by folder


@dataclass(frozen=True, slots=True)
class Expectation:
    """The verdicts of each task, the score, and texts that must occur."""

    verdicts: dict[str, str]
    score: float
    says: tuple[str, ...]


def read(file: Path) -> Expectation:
    """Read the expectation of a submission."""
    text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    lines = [line.strip().partition(": ") for line in text.partition("Expect:")[2].splitlines()]
    pairs = [(key, value) for key, _, value in lines if key]
    tasks = OTHER_TASKS.get(file.parent.name, TASKS)
    verdicts = {key: value for key, value in pairs if key in tasks}
    (score,) = (float(value) for key, value in pairs if key == "score")
    assert tuple(verdicts) in (tasks, TASKS[:1]), f"{file.name} must name the tasks"
    assert {key for key, _ in pairs} <= {*tasks, "score", "says"}, f"{file.name}: unknown key"
    return Expectation(verdicts, score, tuple(value for key, value in pairs if key == "says"))


def summary(report: Report, task: str) -> str:
    """Return the verdicts of a task in order, repetitions once, without the rules that are kept."""
    kept = ("rules", Verdict.PASSED)
    own = [test.verdict for test in report.tests if test.task == task and _key(test) != kept]
    return " ".join(verdict.value for verdict, _ in itertools.groupby(own))


def _key(test) -> tuple[str, Verdict]:
    return test.suite, test.verdict


def fits(verdicts: str, wanted: str) -> bool:
    """Tell whether the verdicts are those wanted; ``a|b`` stands for either."""
    pattern = " ".join(f"(?:{word})" for word in wanted.split())
    return re.fullmatch(pattern, verdicts) is not None
