"""What a submission under ``tests/`` says in its docstring about its own grading.

Its first sentence says what it is or tries. ``Expect:`` is followed by a line for each task with
the verdicts of its tests in the order of the manifest, repetitions once (``a|b`` where the machine
decides), by ``score:``, and by any number of ``says:`` lines, each a text that some message must
contain (again ``a|b``). Rules that are kept are left out. ``lab:`` names the lab if the folder does
not, ``rest:`` stands for the tasks that are not named, ``refused:``, alone, for what is never
graded: a text of the error. What ``web/`` tries is no submission: of it the first sentence counts
alone.
"""

import ast
import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from grader.labs.lab import PSEUDOCODE, Lab, load_lab
from grader.labs.results import Report, Verdict

HERE = Path(__file__).resolve().parents[1]
COURSE = HERE / "demo"
SUBMISSIONS, CLOCK, RANKS = HERE / "submissions", HERE / "clock", HERE / "ranks"
EXPLOITS = HERE / "exploits"
WEB = "web"  # the folder of attacks that hand nothing in: what must hold is in their code
DEMO, SPEED = "90_echo", "91_softmax"
LABS = {
    "clock": SPEED,
    "gpu": SPEED,
    "ranks": "92_ranks",
    "compiler": "93_twice",
}  # by folder; elsewhere the demo lab


@dataclass(frozen=True, slots=True)
class Expectation:
    """The verdicts of each task, the score, and texts that must occur; or that it is refused."""

    about: str
    lab: str
    verdicts: dict[str, str]
    score: float = 0.0
    says: tuple[str, ...] = ()
    refused: str = ""


def read(file: Path) -> Expectation:
    """Read the expectation of a submission."""
    text = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    about = " ".join(text.partition("\n\n")[0].split())
    if file.parent.name == WEB:
        return Expectation(about, DEMO, {})
    lines = [line.strip().partition(": ") for line in text.partition("Expect:")[2].splitlines()]
    pairs = [(key, value) for key, _, value in lines if key]
    given = dict(pairs)
    lab = given.pop("lab", LABS.get(file.parent.name, DEMO))
    if "refused" in given:
        assert set(given) == {"refused"}, f"{file.name}: what is refused has no verdicts"
        return Expectation(about, lab, {}, refused=given["refused"])
    tasks = tuple(task.id for task in find(lab).tasks if task.id != PSEUDOCODE)
    verdicts = {key: value for key, value in pairs if key in tasks}
    if "rest" in given:
        verdicts |= {task: given["rest"] for task in tasks if task not in verdicts}
    # What expects nothing of the demo lab's last tasks is graded on its first alone, and what is
    # about a real lab on the tasks that it names.
    few = {tasks[0]} if lab == DEMO else {*verdicts} if is_real(lab) else {*tasks}
    assert set(verdicts) in ({*tasks}, few), file.name
    assert {*given} <= {*tasks, "rest", "score", "says"}, f"{file.name}: unknown key"
    says = tuple(value for key, value in pairs if key == "says")
    return Expectation(about, lab, verdicts, float(given["score"]), says)


def is_real(name: str) -> bool:
    """Tell a lab of ours from one of the demo course."""
    return not (COURSE / "labs" / name).is_dir()


def find(name: str) -> Lab:
    """Load a lab of the demo course, or a real one."""
    return load_lab((HERE.parent if is_real(name) else COURSE) / "labs" / name)


def problems(report: Report, wanted: Expectation) -> list[str]:
    """Say in which points a report is not as expected."""
    found: list[str] = []
    for task, verdicts in wanted.verdicts.items():
        if not fits(got := summary(report, task), verdicts):
            found.append(f"{task}: expected {verdicts}, got {got}")
    if report.score != wanted.score:
        found.append(f"score: expected {wanted.score:g}, got {report.score:g}")
    messages = "\n".join(test.message for test in report.tests)
    return found + [f"no message says {text!r}" for text in wanted.says if not said(messages, text)]


def summary(report: Report, task: str) -> str:
    """Return the verdicts of a task in order, repetitions once, without the rules that are kept."""
    kept = ("rules", Verdict.PASSED)
    own = [t.verdict for t in report.tests if t.task == task and (t.suite, t.verdict) != kept]
    return " ".join(verdict.value for verdict, _ in itertools.groupby(own))


def fits(verdicts: str, wanted: str) -> bool:
    """Tell whether the verdicts are those wanted; ``a|b`` stands for either."""
    pattern = " ".join(f"(?:{word})" for word in wanted.split())
    return re.fullmatch(pattern, verdicts) is not None


def said(messages: str, wanted: str) -> bool:
    """Tell whether a text was said; ``a|b`` stands for either."""
    return any(text in messages for text in wanted.replace("\\n", "\n").split("|"))


def failures(report: Report) -> str:
    """Show what a person needs to see when an expectation is not met."""
    dull = (Verdict.SKIPPED, Verdict.NOT_GRADED)
    shown = [test for test in report.tests if test.verdict not in dull and test.suite != "rules"]
    return "\n".join(f"{t.task} {t.id} [{t.verdict}] {t.message[:600]!r}" for t in shown)
