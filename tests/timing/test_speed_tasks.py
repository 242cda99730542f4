"""Speed tests in a grading: tiers as tests, what they weigh, when they run at all.

A stopwatch that is told its ratios stands in for the GPU's; the rest is the real plugin.
"""

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins.isolation import require_sandbox
from stand_ins.programs import Programs

from grader.judge.grade import grade
from grader.judge.scoring import score
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.lab import load_lab
from grader.labs.results import Expected, TestResult, Verdict

HERE = Path(__file__).resolve().parents[1]
LAB = load_lab(HERE / "demo" / "labs" / "91_softmax")
RIGHT = "softmax(x.double(), -1).to(x.dtype)"
SESSION = """
import json, sys
from pathlib import Path
import torch
from grader.sandbox.confinement import gpu
from grader.errors import CannotGrade, Mismatch, NotGraded
from grader.labs.lab import load_lab
from grader.proxy.conversation.calls import Calls
from grader.proxy.conversation.spent import Spent
from grader.judge.session import run_pytest
from grader.judge.setup.configuration import Run

class Student:
    spent_ = Spent()
    def softmax(self, x): return torch.{formula}
    def turn_to_(self, task): pass
    def begin_(self, *args): pass
    def inspect_(self): pass
    def printed_(self): return ""
    def asked_(self): return set()
    def calls_(self): return Calls()
    def retire_(self): pass
    def close_(self): pass
    def take_compiled_(self): pass
    def give_compiled_(self): pass

class Turns:
    awaited = False

    def take(self, *, alone):
        emit("lease", alone)
        return 0.0

gpu.lease = Turns

class Stopwatch:
    def verify(self, race):
        if not {right}: raise Mismatch("wrong at this size")
    def reach(self, rung, race):
        {trouble}
        if rung.tier.ratio > {ratio}: raise Mismatch("too slow")

import dataclasses
def emit(event, data):
    print(json.dumps([event, data], default=dataclasses.asdict))

run = Run(load_lab(Path({lab!r})), seed=1, device={device!r}, until_lost={until_lost})
run_pytest(run, Student(), emit, Stopwatch())
"""
# The gate passes: only a later test of the task sees it.
WRONG_IF_NARROW = "softmax(x.double(), -1).to(x.dtype) * (1 + 9 * (x.shape[1] == 2))"


Events = Callable[..., list[Any]]
Graded = Callable[..., tuple[dict[str, float], dict[str, str], list[Expected]]]


@pytest.fixture
def events_of(programs: Programs) -> Events:
    """What a session tells."""
    return functools.partial(_events_of, programs)


@pytest.fixture
def graded(events_of: Events) -> Graded:
    """The score of each task, the verdict of each test, and the manifest."""
    return functools.partial(_graded, events_of)


def _events_of(programs: Programs, formula: str = RIGHT, **options: Any) -> list[Any]:
    usual = {"ratio": 9.0, "right": True, "trouble": "pass", "lab": str(LAB.folder)}
    code = SESSION.format(
        formula=formula, **usual | {"device": "cpu", "until_lost": False} | options
    )
    done = programs.run(code, HERE.parent)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _graded(
    events_of: Events, formula: str = RIGHT, **options: Any
) -> tuple[dict[str, float], dict[str, str], list[Expected]]:
    events = events_of(formula, **options)
    expected = [
        Expected(**entry) for event, data in events if event == "manifest" for entry in data
    ]
    results = [
        TestResult(**{**data, "verdict": Verdict(data["verdict"])})
        for event, data in events
        if event == "test"
    ]
    scores = {task.id: task.score for task in score(LAB, expected, results).tasks if task.graded}
    return scores, {test.id: test.verdict.value for test in results}, expected


def test_tiers_become_tests_that_share_the_weight(graded: Graded) -> None:
    _, verdicts, manifest = graded()

    weights = {entry.id: entry.weight for entry in manifest if entry.task == "speed"}
    assert weights == {
        "test_large_rows_are_right": 0.0,
        "test_speed[x0.5]": pytest.approx(0.4),
        "test_speed[x0.9]": pytest.approx(0.3),
        "test_speed[x1]": pytest.approx(0.3),
    }
    assert list(verdicts)[-1] == "test_speed[x1]"  # speed comes last


@pytest.mark.parametrize(("ratio", "points"), [(9.0, 50), (0.95, 35), (0.6, 20), (0.2, 0)])
def test_each_tier_brings_its_share(graded: Graded, ratio: float, points: float) -> None:
    scores, _, _ = graded(ratio=ratio)

    assert scores == {"right": 45, "speed": points}


def test_speed_of_wrong_answers_is_not_even_measured(graded: Graded) -> None:
    scores, verdicts, _ = graded(WRONG_IF_NARROW)

    assert scores["speed"] == 0
    assert 0 < scores["right"] < 45
    assert {verdicts[name] for name in verdicts if "speed" in name} == {"skipped"}


def leases(events: list[Any]) -> list[bool]:
    """For each time that the GPU was taken, whether it was alone."""
    return [alone for event, alone in events if event == "lease"]


def test_gpu_is_taken_alone_once_for_all_that_is_timed(events_of: Events) -> None:
    # Shared for each task, whole results at the sizes of races among them.
    events = events_of(device="cuda")

    assert leases(events) == [False, False, True]
    assert [data > 0 for event, data in events if event == "alone"] == [True]


def test_what_is_not_measured_waits_for_no_gpu(events_of: Events) -> None:
    events = events_of(WRONG_IF_NARROW, device="cuda")

    assert leases(events) == [False]
    assert "alone" not in [event for event, _ in events]


def test_task_that_is_sure_to_be_lost_is_left_out(
    graded: Graded, events_of: Events, tmp_path: Path
) -> None:
    root = shutil.copytree(LAB.root, tmp_path / "course")
    suite = root / "grader" / "suites" / "test_91_softmax.py"
    gate = '@task("speed", gate=True, needs=("right",))'
    assert gate in suite.read_text()
    suite.write_text(suite.read_text().replace(gate, '@task("speed", gate=True)'))
    lab = str(root / "labs" / LAB.name)

    _, whole, _ = graded(WRONG_IF_NARROW, lab=lab)
    events = events_of(WRONG_IF_NARROW, lab=lab, device="cuda", until_lost=True)

    assert whole["test_large_rows_are_right"] == "passed"
    found = {data["id"]: data["verdict"] for event, data in events if event == "test"}
    assert found["test_large_rows_are_right"] == "skipped"
    assert leases(events) == [False]


def test_values_that_are_wrong_when_timed_earn_nothing(graded: Graded) -> None:
    scores, verdicts, _ = graded(right=False)

    assert scores == {"right": 45, "speed": 0}
    assert verdicts["test_large_rows_are_right"] == "failed"
    assert verdicts["test_speed[x0.5]"] == "skipped"


@pytest.mark.parametrize(
    ("trouble", "verdict"),
    [
        ("raise NotGraded('a larger GPU is needed')", "not_graded"),
        ("raise CannotGrade('the GPU is busy')", "infra"),
        ("raise RuntimeError('our own fault')", "infra"),
    ],
)
def test_trouble_of_ours_leaves_the_denominator(graded: Graded, trouble: str, verdict: str) -> None:
    scores, verdicts, _ = graded(trouble=trouble)

    assert scores == {"right": 45}
    assert verdicts["test_speed[x0.5]"] == verdict


def test_a_measurement_that_is_not_plausible_stays_in_the_denominator(graded: Graded) -> None:
    scores, verdicts, _ = graded(trouble="raise Mismatch('it is not plausible')", ratio=0.1)

    assert scores == {"right": 45, "speed": 0}
    assert verdicts["test_speed[x0.5]"] == "failed"


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_speed_is_not_graded_on_a_cpu(sessions: ForkServer, tmp_path: Path, right: bool) -> None:
    require_sandbox()
    wrong = tmp_path / "softmax.py"
    wrong.write_text("def softmax(x):\n    return x\n")

    source = HERE / "clock" / "right_baseline.py" if right else wrong
    report = grade(Request(LAB, source, device="cpu", sandbox="required"), start=sessions)

    assert (report.graded, report.exit_code) == (45, 0 if right else 1)
    assert report.score == 45 or not right
    speed = [test for test in report.tests if test.task == "speed" and test.suite == "hidden"]
    assert {test.verdict for test in speed} == {Verdict.NOT_GRADED}
    assert {test.message for test in speed} == {"speed is measured on a GPU only"}
