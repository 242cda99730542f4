"""The whole way from files to a report: events, seeds, interruptions, and whose fault it is."""

import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stand_ins.expectation import HERE, SUBMISSIONS
from stand_ins.isolation import processes_that_see, require_sandbox

from grader.errors import JudgeError, UsageError
from grader.judge.grade import choose_device, find_checkpoints, freeze, grade
from grader.judge.listener import MOST_PRINTED, Listener, Progress, follow
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer, Session, start_anew
from grader.labs.documents.submission import Submission, fingerprint
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Expected, Report, TestResult, Verdict
from grader.readers import Budget
from grader.report.formats.forms import Form, render
from grader.sandbox.confinement import limits
from grader.sandbox.stage import sweep

COURSE = HERE / "demo"
LAB = load_lab(COURSE / "labs" / "90_echo")
HAS_GPU = any(Path("/dev").glob("nvidia[0-9]*")) or Path("/dev/dxg").exists()


@pytest.fixture(scope="module", autouse=True)
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A temporary folder of our own, so that whatever is left behind is ours."""
    require_sandbox()
    folder = tmp_path_factory.mktemp("stages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        patch.setenv("TMPDIR", str(folder))
        patch.delenv("MODEL", raising=False)
        yield folder


def lab_with(folder: Path, suite: str, **limits: float) -> Lab:
    """Return a copy of the demo lab with another hidden suite and other limits."""
    root = shutil.copytree(COURSE, folder / "course")
    (root / "grader" / "suites" / "test_90_echo.py").write_text(suite)
    (root / "labs" / "90_echo" / "test_echo.py").unlink()
    lab = root / "labs" / "90_echo"
    text = (lab / "lab.toml").read_text()
    for name, value in limits.items():
        before, _, after = text.partition(f"{name} = ")
        text = f"{before}{name} = {value}\n{after.partition(chr(10))[2]}"
    (lab / "lab.toml").write_text(text)
    return load_lab(lab)


def verdicts(report: Report, *suites: str) -> dict[str, str]:
    return {t.id: t.verdict.value for t in report.tests if t.suite in (suites or ("hidden",))}


# -- a grading from beginning to end ---------------------------------------------------------


@dataclasses.dataclass
class Heard:
    report: Report
    events: list[tuple[str, Any]]
    saved: Any


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Heard:
    events: list[tuple[str, Any]] = []
    file = tmp_path_factory.mktemp("reports") / "new" / "report.json"
    report = grade(
        Request(LAB, LAB.solutions, device="cpu", seed=7, sandbox="required"),
        on_event=lambda event, data: events.append((event, data)),
        partial_file=file,
    )
    return Heard(report, events, json.loads(file.read_text()))


def test_right_answer_with_pseudocode_earns_everything(right: Heard) -> None:
    report = right.report

    assert {t.verdict for t in report.tests} == {Verdict.PASSED}
    assert (report.score, report.graded, report.total, report.exit_code) == (100, 100, 100, 0)


def test_manifest_comes_first_and_results_follow_its_order(right: Heard) -> None:
    (first, manifest), *rest = right.events
    told = [(t.suite, t.id) for event, t in rest if event == "test"]

    assert first == "manifest"
    assert told == [(e.suite, e.id) for e in manifest]
    assert told == [(t.suite, t.id) for t in right.report.tests]


def test_what_the_tests_of_each_task_called_is_told(right: Heard) -> None:
    asked = dict(right.events)["asked"]

    assert asked == {"scale": ["scale"], "store": ["Store"], "loop": ["generate"]}


def test_what_was_measured_is_told_and_in_no_report(right: Heard) -> None:
    measured = dict(right.events)["measured"]

    assert {"suite", "test", "closest"} == {key for item in measured for key in item}
    assert all(0 <= item["closest"]["error"] <= item["closest"]["limit"] for item in measured)
    assert "closest" not in str(right.report.to_json())


def test_what_the_seconds_went_to_is_told_and_in_no_report(right: Heard) -> None:
    spent: Counter[str] = Counter()
    for event, data in right.events:
        if event == "spent":  # what is new, after each test
            spent.update(data)

    assert 0 < sum(spent.values()) < right.report.provenance["seconds"]
    assert "first calls" in spent
    assert "first calls" not in str(right.report.to_json())


def test_tasks_come_in_the_labs_order_with_gates_first(right: Heard) -> None:
    hidden = [e for e in right.events[0][1] if e.suite in ("hidden", "public")]
    order = [task.id for task in LAB.tasks]

    assert hidden == sorted(hidden, key=lambda e: (order.index(e.task), not e.gate))
    assert {e.suite for e in hidden} == {"hidden", "public"}
    assert {e.task for e in right.events[0][1]} == set(order)


def test_each_test_begins_before_it_ends(right: Heard) -> None:
    running = ""
    for event, data in right.events[1:]:
        if event == "begin":
            assert not running
            running = data.id
        elif event == "test" and data.suite in ("hidden", "public"):
            assert running == data.id
            running = ""


def test_saved_report_is_the_report(right: Heard) -> None:
    assert right.saved == json.loads(render(right.report, Form.JSON))
    assert right.saved["partial"] is False


def test_provenance_says_how_it_was_graded(right: Heard) -> None:
    provenance = right.report.provenance

    files = {name: (LAB.solutions / name).read_bytes() for name in ("echo.py", "PSEUDOCODE.md")}
    assert provenance["submission_sha256"] == fingerprint(files)
    assert (provenance["seed"], provenance["sandbox"], provenance["device"]) == (7, "bwrap", "cpu")
    assert provenance["limits"] in ("cgroup1", "cgroup2", "watch")
    assert provenance["torch"]
    assert 0 < provenance["seconds"] < 300
    assert "not_isolated" not in provenance


def test_without_a_sandbox_the_report_says_so(sessions: ForkServer) -> None:
    report = grade(
        Request(LAB, LAB.solutions / "echo.py", device="cpu", sandbox="none", suite="public"),
        start=sessions,
    )

    assert report.provenance["sandbox"] == "none"
    assert "asked for" in report.provenance["not_isolated"]
    assert [t.id for t in report.tests if t.suite == "public"] == ["test_doubles"]
    assert not [t for t in report.tests if t.suite == "hidden"]


SHOWS_INPUT = """
from grader.errors import Mismatch
from grader.suite import task

@task("scale", gate=True)
def test_draw(draw):
    raise Mismatch(f"{draw.seed} {draw.tokens(99, 9)} {draw.normal(3).tolist()}")
"""


def test_seed_repeats_inputs_and_another_changes_them(tmp_path: Path, sessions: ForkServer) -> None:
    messages: list[list[str]] = []
    seeds: list[int] = []
    lab = lab_with(tmp_path, SHOWS_INPUT)
    for seed in (5, 5, None):
        asked = Request(lab, SUBMISSIONS / "wrong_value.py", "cpu", seed, "none", tasks={"scale"})
        report = grade(asked, start=sessions)  # no other task has a test
        messages.append([t.message for t in report.tests])
        seeds.append(report.provenance["seed"])

    assert messages[0] == messages[1] != messages[2]
    assert seeds[:2] == [5, 5] != seeds[2:]
    assert 0 <= seeds[2] < 1 << 31


# -- verdicts --------------------------------------------------------------------------------

SUITE = '''
import pytest
from grader.errors import Mismatch, NotGraded
from grader.suite import assert_equal, task

@task("scale", gate=True)
def test_passed(student):
    """It passes."""
    assert_equal(student.answer(), 42)

@task("scale")
def test_failed(student):
    """The answer is 43.
    This line is not shown."""
    assert_equal(student.answer(), 43)

@task("scale")
def test_error(student):
    """It raises nothing."""
    student.bad()

@task("scale")
def test_crashed(student):
    student.end()

@task("scale")
def test_goes_on_with_a_new_worker(student):
    assert_equal(student.answer(), 42)

@task("scale")
def test_timeout(student):
    with student.time_limit(0.5):
        student.sleep(10)

@task("scale")
def test_not_graded(student):
    raise NotGraded("needs two GPUs")

@task("scale")
def test_skip_is_ours(student):
    pytest.skip("for no reason")

@task("scale")
def test_infra(student):
    {}["expected value: 12345"]

@task("scale")
def test_bare_assert_is_ours(student):
    assert student.answer() == 43

@task("store", gate=True)
def test_gate_fails(student):
    raise Mismatch("no")

@task("store")
def test_behind_the_gate(student):
    student.answer()

@task("loop", gate=True)
def test_requires_the_gate(student):
    student.answer()
'''
ANSWER = """
import os, time

def answer():
    print("hello")
    return 42

def bad():
    raise KeyError("x")

def end():
    os._exit(7)

def sleep(seconds):
    time.sleep(seconds)
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, sessions: ForkServer) -> Report:
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "answer.py").write_text(ANSWER)
    return grade(
        Request(lab_with(folder, SUITE), folder / "answer.py", device="cpu", sandbox="required"),
        start=sessions,
    )


def test_every_outcome_has_its_verdict(mixed: Report) -> None:
    assert verdicts(mixed) == {
        "test_passed": "passed",
        "test_failed": "failed",
        "test_error": "error",
        "test_crashed": "crashed",
        "test_goes_on_with_a_new_worker": "passed",
        "test_timeout": "timeout",
        "test_not_graded": "not_graded",
        "test_skip_is_ours": "infra",
        "test_infra": "infra",
        "test_bare_assert_is_ours": "infra",
        "test_gate_fails": "failed",
        "test_behind_the_gate": "skipped",
        "test_requires_the_gate": "skipped",
    }


DYING = """
import os
from pathlib import Path
from grader.suite import task

@task("scale", gate=True)
def test_before(student):
    student.answer()

@task("scale")
def test_dies(student):
    deaths = Path({file!r})
    count = len(deaths.read_text()) if deaths.exists() else 0
    if student.answer() == 42 and count < {times}:
        deaths.write_text("x" * (count + 1))
        os._exit(9)

@task("store", gate=True)
def test_after(student):
    student.answer()
"""


@pytest.mark.parametrize(("times", "verdict"), [(1, "passed"), (2, "crashed"), (99, "crashed")])
def test_session_that_ends_twice_in_a_test_is_the_submissions_doing(
    tmp_path: Path, sessions: ForkServer, times: int, verdict: str
) -> None:
    (tmp_path / "answer.py").write_text(ANSWER)
    deaths = tmp_path / "deaths"
    lab = lab_with(tmp_path, DYING.format(file=str(deaths), times=times))

    report = grade(Request(lab, tmp_path / "answer.py", "cpu", 5, "none"), start=sessions)

    expected = {"test_before": "passed", "test_dies": verdict, "test_after": "passed"}
    assert verdicts(report) == expected
    assert len(deaths.read_text()) == min(times, 2)
    assert report.provenance["seed"] == 5 + min(times, 2)
    told = {test.id: test.message for test in report.tests}
    assert ("under different seeds" in told["test_dies"]) == (verdict == "crashed")


READING = """
from grader.suite import task

class Diary:
    def __init__(self):
        self.calls = []

    def __call__(self, text):
        self.calls.append(text)

@task("scale", gate=True)
def test_before(student):
    student.answer()

@task("scale")
def test_reads_a_diary(student):
    diary = Diary()
    student.write(student.lend(diary))
    same = [a for a in diary.calls for b in diary.calls if {*a} == {*b}]

@task("store", gate=True)
def test_after(student):
    student.answer()
"""

TIMES = {"call_seconds": 100.0, "test_seconds": 100.0, "total_seconds": 500.0}
WRITES = """
def answer():
    return 42

def write(diary):
    for n in range(6_000):
        diary([n] * 8)
"""


def test_diary_that_takes_long_to_read_is_the_submissions_doing(
    tmp_path: Path, sessions: ForkServer
) -> None:
    (tmp_path / "writes.py").write_text(WRITES)
    lab = lab_with(tmp_path, READING, **TIMES)

    report = grade(
        Request(lab, tmp_path / "writes.py", device="cpu", sandbox="none"), start=sessions
    )

    expected = {"test_before": "passed", "test_reads_a_diary": "timeout", "test_after": "passed"}
    assert verdicts(report) == expected
    told = {test.id: test.message for test in report.tests}
    assert "took more than the 10 s of the judge's time" in told["test_reads_a_diary"]


HUNGRY = """
from grader.suite import task

@task("scale", gate=True)
def test_before(student):
    student.answer()

@task("scale")
def test_takes_all(student):
    kept = [b"a" * (16 << 20) for _ in range(student.answer())]

@task("store", gate=True)
def test_after(student):
    student.answer()
"""


def test_session_that_runs_out_of_memory_twice_in_a_test_says_so(
    tmp_path: Path, sessions: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limits.detect() == "watch":
        pytest.skip("no control group can be made here")
    monkeypatch.setattr("grader.judge.runner.JUDGE_MEMORY", 400 << 20)
    (tmp_path / "answer.py").write_text(ANSWER)
    lab = lab_with(tmp_path, HUNGRY)

    report = grade(
        Request(lab, tmp_path / "answer.py", device="cpu", sandbox="required"), start=sessions
    )

    expected = {"test_before": "passed", "test_takes_all": "crashed", "test_after": "passed"}
    assert verdicts(report) == expected
    told = {test.id: test.message for test in report.tests}
    assert "the judge itself ran out of memory on what the code gave" in told["test_takes_all"]


def test_rest_of_a_lost_task_is_left_out_on_request(tmp_path: Path, sessions: ForkServer) -> None:
    (tmp_path / "answer.py").write_text(ANSWER)
    lab = lab_with(tmp_path, SUITE)

    report = grade(
        Request(lab, tmp_path / "answer.py", device="cpu", sandbox="required", until_lost=True),
        start=sessions,
    )

    found = verdicts(report)
    assert (found["test_passed"], found["test_failed"]) == ("passed", "failed")
    assert {found[name] for name in ("test_error", "test_crashed", "test_infra")} == {"skipped"}
    assert found["test_gate_fails"] == "failed"


def test_some_tasks_alone_are_graded_on_request(tmp_path: Path, sessions: ForkServer) -> None:
    (tmp_path / "answer.py").write_text(ANSWER)
    lab = lab_with(tmp_path, SUITE)

    report = grade(
        Request(lab, tmp_path / "answer.py", device="cpu", sandbox="none", tasks={"loop"}),
        start=sessions,
    )

    assert {task.id for task in report.tasks if task.graded} == {"loop"}
    assert set(verdicts(report)) == {"test_requires_the_gate"}


def test_some_tests_alone_are_graded_on_request(tmp_path: Path, sessions: ForkServer) -> None:
    (tmp_path / "answer.py").write_text(ANSWER)
    lab = lab_with(tmp_path, SUITE)
    chosen = {"hidden test_passed", "hidden test_failed", "public test_error"}

    report = grade(
        Request(lab, tmp_path / "answer.py", device="cpu", sandbox="none", tests=chosen),
        start=sessions,
    )

    assert verdicts(report) == {"test_passed": "passed", "test_failed": "failed"}


def test_score_leaves_out_what_is_not_the_submissions(mixed: Report) -> None:
    """In scale the judge failed too: of that task nothing is left."""
    scores = {task.id: (task.score, task.graded) for task in mixed.tasks}

    assert scores.pop("pseudocode")[0] == 0
    assert scores == {"scale": (0, False), "store": (0, True), "loop": (0, True)}
    assert mixed.exit_code == 3


def test_messages_say_contract_and_cause(mixed: Report) -> None:
    says = {t.id: t.message for t in mixed.tests}

    assert says["test_failed"] == "The answer is 43.\ncall: answer()\nthe result is 42, expected 43"
    assert says["test_error"] == (
        "It raises nothing.\ncall: bad()\nKeyError: 'x'\n  line 9 in bad: raise KeyError(\"x\")"
    )
    assert says["test_crashed"] == "call: end()\nthe process ended itself with status 7"
    assert says["test_not_graded"] == "needs two GPUs"
    assert says["test_behind_the_gate"] == "test_gate_fails has to pass first"
    assert "12345" not in says["test_infra"]


def test_output_stands_with_the_test_that_caused_it(mixed: Report) -> None:
    printed = {t.id: t.output for t in mixed.tests if t.output}

    assert printed == dict.fromkeys(
        [
            "test_passed",
            "test_failed",
            "test_goes_on_with_a_new_worker",
            "test_bare_assert_is_ours",
        ],
        "hello\n",
    )


# -- time ------------------------------------------------------------------------------------

HANGS = """
import pytest
from grader.suite import task

@task("scale")
@pytest.mark.parametrize("n", range(30))
def test_hang(student, n):
    student.sleep(10)
"""


def test_submission_that_eats_all_the_time_earns_timeouts_not_our_pity(
    tmp_path: Path, sessions: ForkServer
) -> None:
    """Else sleeping would be a way to have the rest left out of the denominator."""
    lab = lab_with(tmp_path, HANGS, call_seconds=1, total_seconds=3)
    (tmp_path / "answer.py").write_text(ANSWER)
    started = time.monotonic()

    report = grade(
        Request(lab, tmp_path / "answer.py", device="cpu", sandbox="required", tasks={"scale"}),
        start=sessions,
    )  # no other task has a test

    assert set(verdicts(report).values()) == {"timeout"}
    assert report.tests[-1].message == "the grading ran past its time limit"
    assert time.monotonic() - started < 60


# -- interruptions ---------------------------------------------------------------------------


QUICK_THEN_SLOW = """
import pytest
from grader.suite import task

@task("scale")
def test_quick(student):
    student.answer()

@task("scale")
@pytest.mark.parametrize("n", range(3))
def test_slow(student, n):
    student.sleep(60)
"""


def test_killed_session_is_our_fault_and_leaves_nothing(
    stages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.judge.runner.MOST_SESSIONS", 1)
    lab = lab_with(tmp_path, QUICK_THEN_SLOW, call_seconds=100, total_seconds=300)
    (tmp_path / "answer.py").write_text(ANSWER)
    file = tmp_path / "report.json"

    started: list[Session] = []

    def start(folder: str) -> Session:
        started.append(start_anew(folder))
        return started[0]

    def kill(event: str, data: Any) -> None:
        if event == "test" and data.suite == "hidden":
            started[0].kill()

    report = grade(
        Request(lab, tmp_path / "answer.py", device="cpu", sandbox="required"),
        start=start,
        on_event=kill,
        partial_file=file,
    )

    slow = dict.fromkeys((f"test_slow[{n}]" for n in range(3)), "infra")
    assert verdicts(report) == {"test_quick": "passed"} | slow
    assert report.exit_code == 3
    assert json.loads(file.read_text())["tests"] == json.loads(render(report, Form.JSON))["tests"]
    assert wait_for_none(stages) == []
    assert list(stages.glob("inferlab-*")) == []


def wait_for_none(stages: Path) -> list[str]:
    deadline = time.monotonic() + 10
    while (left := processes_that_see(stages)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


PROGRAM = """
import sys
sys.path[:0] = [{project!r}]
from pathlib import Path
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.lab import load_lab
def hear(event, data):
    if event == "test" and data.suite == "hidden":
        print(data.id, flush=True)
        import time; time.sleep(1000)
lab = load_lab(Path({lab!r}))
save = Path({file!r})
asked = Request(lab, lab.solutions, device="cpu", sandbox="required")
grade(asked, partial_file=save, on_event=hear)
"""


def test_killed_judge_leaves_a_partial_report_and_no_worker(stages: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    program = PROGRAM.format(project=str(HERE.parent), lab=str(LAB.folder), file=str(file))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as judge:
        assert judge.stdout is not None
        assert judge.stdout.readline() == b"test_values[2-3-5]\n"
        judge.kill()

    saved = json.loads(file.read_text())
    assert saved["partial"] is True
    assert saved["tests"][-1]["id"] == "test_values[2-3-5]"
    assert wait_for_none(stages) == []
    assert len(list(stages.glob(f"inferlab-{judge.pid}-*"))) == 1
    sweep()
    assert list(stages.glob("inferlab-*")) == []


def heard(lines: list[bytes]) -> tuple[int | None, Progress]:
    progress = Progress(LAB, {}, {}, [], [])
    return follow(lines, Listener(progress, None, None)), progress


def test_line_cut_off_by_a_kill_ends_the_session() -> None:
    manifest = [dataclasses.asdict(Expected("a", "scale", "hidden"))]
    lines = [json.dumps(["manifest", manifest]).encode() + b"\n", b'["test", {"id": "a", "ta']

    code, progress = heard(lines)

    assert code is None
    assert [e.id for e in progress.expected] == ["a"]
    assert progress.results == []


def test_rule_that_the_code_kept_and_the_run_broke_costs_the_task() -> None:
    """The run's verdict takes the place of the one that reading the code gave."""
    rule = Expected("rules[scale]", "scale", "rules", weight=0.0, gate=True)
    tests = [rule, Expected("a", "scale", "hidden"), Expected("b", "scale", "hidden")]
    told = [
        TestResult("rules[scale]", "scale", "rules", Verdict.PASSED),
        TestResult("a", "scale", "hidden", Verdict.PASSED),
        TestResult("rules[scale]", "scale", "rules", Verdict.FAILED, "the code called torch.mul"),
        TestResult("b", "scale", "hidden", Verdict.FAILED),
    ]
    lines = [json.dumps(["manifest", [dataclasses.asdict(test) for test in tests]]).encode()]
    lines += [json.dumps(["test", dataclasses.asdict(result)]).encode() for result in told]

    _, progress = heard([line + b"\n" for line in lines])

    report = progress.report(partial=False)
    shown = [(test.id, test.verdict.value) for test in report.tests]
    assert shown == [("rules[scale]", "failed"), ("a", "passed"), ("b", "failed")]
    assert (report.tasks[0].score, report.tasks[0].graded) == (0, True)


def test_what_all_tests_print_together_has_a_ceiling() -> None:
    names = [str(number) for number in range(5)]
    manifest = [dataclasses.asdict(Expected(name, "scale", "hidden")) for name in names]
    flood = "x" * (MOST_PRINTED // 2 - 10)
    told = [TestResult(n, "scale", "hidden", Verdict.PASSED, output=flood) for n in names[1:]]
    told.append(TestResult("0", "scale", "hidden", Verdict.PASSED))
    lines = [json.dumps(["manifest", manifest]).encode()]
    lines += [json.dumps(["test", dataclasses.asdict(result)]).encode() for result in told]

    _, progress = heard([line + b"\n" for line in lines])

    kept = [result.output for result in progress.results]
    assert kept[:2] == [flood, flood]
    assert kept[2].startswith(
        "x" * 20 + "\n… 99,970 more characters; a report keeps 200,000 in all"
    )
    assert kept[3] == "… 99,990 more characters; a report keeps 200,000 in all"
    assert kept[4] == ""


def test_silence_of_the_session_is_no_exit_code() -> None:
    assert heard([])[0] is None
    assert heard([b'["end", 1]\n'])[0] == 1


# -- what a lab or a caller got wrong -----------------------------------------------------------


@pytest.mark.parametrize(
    "suite",
    [
        "def test_a(:\n",
        "import no_such_module\n",
        "from grader.suite import task\n@task('unheard')\ndef test_a(student): ...\n",
        "def test_without_a_task(student): ...\n",
    ],
    ids=["syntax", "import", "task", "mark"],
)
def test_suite_that_cannot_run_is_told_as_ours(
    tmp_path: Path, suite: str, stages: Path, sessions: ForkServer
) -> None:
    with pytest.raises(JudgeError, match="the suite of lab 90 could not be run"):
        grade(
            Request(lab_with(tmp_path, suite), LAB.solutions, device="cpu", sandbox="required"),
            start=sessions,
        )

    assert list(stages.glob("inferlab-*")) == []


def test_devices() -> None:
    with pytest.raises(UsageError, match="no device 'tpu'"):
        choose_device("tpu")
    assert choose_device("cpu") == "cpu"


@pytest.mark.skipif(HAS_GPU, reason="this machine has a GPU")
def test_gpu_that_is_not_there_is_a_usage_error() -> None:
    assert choose_device("auto") == "cpu"
    with pytest.raises(UsageError, match="no NVIDIA GPU"):
        grade(Request(LAB, LAB.solutions, device="cuda"))


def test_missing_submission_is_a_usage_error_and_leaves_no_stage(
    tmp_path: Path, stages: Path
) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        grade(Request(LAB, tmp_path / "nowhere", device="cpu"))

    assert list(stages.glob("inferlab-*")) == []


def checkpoint(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


def test_model_variable_stands_in_for_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = dataclasses.replace(LAB, root=tmp_path, checkpoints=("target", "draft"))
    own = {name: checkpoint(tmp_path / "labs" / "checkpoints" / name) for name in lab.checkpoints}
    other = checkpoint(tmp_path / "other")

    assert find_checkpoints(lab) == own
    monkeypatch.setenv("MODEL", str(other))
    assert find_checkpoints(lab) == {**own, "target": other}
    assert find_checkpoints(LAB) == {}
    monkeypatch.setenv("MODEL", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match="no checkpoint target") as caught:
        find_checkpoints(lab)
    assert "MODEL" in caught.value.hint


def test_submission_in_memory_is_written_for_every_user(tmp_path: Path) -> None:
    files = {"echo.py": b"pass\n"}
    made = Submission(files, fingerprint(files), tmp_path, "echo.py", tmp_path, True)

    frozen = freeze(LAB, made, tmp_path / "into", Budget())

    assert frozen.folder == tmp_path / "into"
    assert frozen.code_path.read_bytes() == b"pass\n"
    assert frozen.code_path.stat().st_mode & 0o777 == 0o644
    assert frozen.folder.stat().st_mode & 0o777 == 0o755
