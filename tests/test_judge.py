"""Grade submissions, right, wrong and hostile, with the real judge, and compare whole.

What each is and what must come out stands in its own docstring. All are graded side by side, two at
a time, by a session-wide fixture; the tests look at the reports.
"""

import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import expectation
import pytest
from isolation import processes_that_see, require_sandbox

from grader import limits
from grader import report as forms
from grader.grade import grade
from grader.lab import Lab, load_lab
from grader.results import Report, Verdict

COURSE = expectation.HERE / "course"
LAB = load_lab(COURSE / "labs" / "90_echo")
SUITE = f"test_{LAB.name}.py"
FILES = {file.stem: file for file in sorted(expectation.FOLDER.glob("*.py"))}
BROKEN = {
    "syntax": b"def scale(x, factor:\n    return x\n",
    "null_byte": b"def scale(x, factor):\n    return x\0\n",
    "encoding": b"NAME = 'caf\xe9'\ndef scale(x, factor):\n    return x\n",
    "deep_nesting": b"def scale(x, factor):\n    return " + b"(" * 100_000 + b")" * 100_000 + b"\n",
    "long_line": b"x = " + b"-" * 900_000 + b"1\n",
}
TREES = {  # beside a right answer: files that a judge might load by accident
    "conftest": ("conftest.py", "pytest.ini", "pyproject.toml", "tox.ini"),
    "modules": (
        "torch.py",
        "sitecustomize.py",
        "usercustomize.py",
        "grader/__init__.py",
        "math.py",
    ),
    "given": ("labs/common.py", "labs/__init__.py", "test_echo.py", "lab.toml", "json.py"),
}
SECRET = "canary-5d1f0c7ae2b94836"  # stands in the hidden suite and in the solution
PLANTED = f"canary-{secrets.token_hex(8)}"  # stands in the judge's environment


class Gradings:
    """Reports by name; grading begins for all selected tests at once."""

    def __init__(self, place: Path, pool: ThreadPoolExecutor) -> None:
        self.place = place
        self.one_task = lab_of_one_task(place)
        self._pool = pool
        self._running: dict[str, Future[Report]] = {}

    def start(self, name: str) -> None:
        """Begin to grade what a test names."""
        self._running[name] = self._pool.submit(self._grade, name)

    def _grade(self, name: str) -> Report:
        kind, _, rest = name.rpartition(":")
        source = FILES.get(name) or self.place / f"{kind}-{rest}"
        whole = kind == "tree" or (not kind and "loop" in expectation.read(source).verdicts)
        if kind == "broken":
            source.write_bytes(BROKEN[rest])
        elif kind == "tree":
            hostile_tree(source, TREES[rest])
        lab = LAB if whole else self.one_task
        return grade(lab, source, device="cpu", seed=11, sandbox="required")

    def report(self, name: str) -> Report:
        """Wait for a report."""
        return self._running[name].result()

    def all(self) -> dict[str, Report]:
        """Wait for every report."""
        return {name: future.result() for name, future in self._running.items()}


def lab_of_one_task(folder: Path) -> Lab:
    """Copy the demo course without all but the first task: it takes one worker, not three."""
    root = shutil.copytree(COURSE, folder / "course")
    toml, suite = root / "labs" / LAB.name / "lab.toml", root / "grader" / "suites" / SUITE
    before, scale, _, _, pseudocode = toml.read_text().split("[[tasks]]")
    scale = scale.replace("points = 45", "points = 95")
    toml.write_text("[[tasks]]".join((before, scale, pseudocode)))
    suite.write_text(suite.read_text().partition("def filled(")[0])
    return load_lab(root / "labs" / LAB.name)


def hostile_tree(folder: Path, names: tuple[str, ...]) -> None:
    """Write a right answer and beside it files that end whatever process loads them."""
    folder.mkdir()
    folder.joinpath("echo.py").write_bytes((LAB.solutions / "echo.py").read_bytes())
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("import os\nos._exit(0)\n" if name.endswith(".py") else "[pytest\n")


@pytest.fixture(scope="module")
def gradings(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gradings]:
    require_sandbox()
    place, stages = tmp_path_factory.mktemp("submissions"), tmp_path_factory.mktemp("stages")
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(tempfile, "tempdir", str(stages))
        patch.setenv("INFERLAB_SECRET", PLANTED)
        gradings = Gradings(place, pool)
        for item in request.session.items:
            name = getattr(item, "callspec", None) and item.callspec.params.get("name")
            if item.path == request.path and name:
                gradings.start(name)
        yield gradings
        pool.shutdown(cancel_futures=True)


def failures(report: Report) -> str:
    """Show what a person needs to see when an expectation is not met."""
    return "\n".join(f"{t.id} [{t.verdict}] {t.message[:300]!r}" for t in report.tests)


@pytest.mark.parametrize("name", FILES)
def test_submission_gets_the_report_it_expects(gradings: Gradings, name: str) -> None:
    wanted = expectation.read(FILES[name])

    report = gradings.report(name)

    for task, verdicts in wanted.verdicts.items():
        got = expectation.summary(report, task)
        assert expectation.fits(got, verdicts), f"{task}: {got}\n{failures(report)}"
    assert report.score == wanted.score
    assert report.exit_code == (0 if wanted.score == 95 else 1)
    messages = "\n".join(test.message for test in report.tests)
    for text in wanted.says:
        assert text.replace("\\n", "\n") in messages, failures(report)


@pytest.mark.parametrize("name", [f"broken:{name}" for name in BROKEN])
def test_file_that_is_no_python_earns_nothing(gradings: Gradings, name: str) -> None:
    report = gradings.report(name)

    assert report.score == 0, failures(report)
    assert report.exit_code == 1
    assert expectation.summary(report, "scale") == "error skipped"


@pytest.mark.parametrize("name", [f"tree:{name}" for name in TREES])
def test_files_beside_the_answer_change_nothing(gradings: Gradings, name: str) -> None:
    report = gradings.report(name)

    assert report.score == 95, failures(report)
    assert [expectation.summary(report, task) for task in expectation.TASKS] == ["passed"] * 3


@pytest.fixture(scope="module")
def reports(gradings: Gradings) -> dict[str, Report]:
    return gradings.all()


def test_every_test_of_the_manifest_has_a_verdict_of_the_submission(
    reports: dict[str, Report],
) -> None:
    manifests = {
        tuple((t.suite, t.id) for t in r.tests if t.task != "pseudocode") for r in reports.values()
    }

    assert len(manifests) <= 2  # of all tasks, and of one
    assert not [n for n, r in reports.items() if Verdict.INFRA in {t.verdict for t in r.tests}]
    assert not [n for n, r in reports.items() if r.partial or r.provenance["sandbox"] != "bwrap"]


def test_nothing_hidden_is_in_any_report(reports: dict[str, Report]) -> None:
    for name, report in reports.items():
        text = forms.render(report, forms.Form.JSON)
        assert SECRET.encode() not in text, name
        assert PLANTED.encode() not in text, name


def test_output_is_cut(reports: dict[str, Report]) -> None:
    kept = {name: max(len(t.output) for t in r.tests) for name, r in reports.items()}

    assert max(kept.values()) <= LAB.limits.output_kb << 10
    for name in {"forge_report", "hurt_output"} & set(kept):
        assert kept[name] > 10_000, name


@pytest.mark.parametrize("form", forms.Form)
def test_every_report_can_be_shown(reports: dict[str, Report], form: forms.Form) -> None:
    for report in reports.values():
        text = forms.render(report, form)
        text.decode("utf-8")
        assert b"\x1b[2J" not in text
        if form in (forms.Form.HTML, forms.Form.JUNIT):  # the rest is no markup, or fenced
            assert b"<script>alert" not in text


def test_nothing_is_left_behind(reports: dict[str, Report]) -> None:
    deadline = time.monotonic() + 10
    while (left := leftovers()) and time.monotonic() < deadline:
        time.sleep(0.1)
        limits.sweep()

    assert left == []


def leftovers() -> list[str]:
    """List stages, processes that see one, groups of the dead, notes outside the sandbox."""
    stages = tempfile.gettempdir()
    found = [str(path) for path in Path(stages).iterdir()]
    found += processes_that_see(stages)
    found += [str(path) for path in groups_of_the_dead() - GROUPS_BEFORE]
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/", str(Path.home()), str(Path.cwd())):
        found += [str(p) for n in ("note-of-scale", "results") for p in Path(place).glob(n)]
    return found


def groups_of_the_dead() -> set[Path]:
    """Return control groups of sessions that are no more."""
    groups = {path for path in limits.ROOT.glob("**/inferlab-*-*") if path.is_dir()}
    return {path for path in groups if not Path("/proc", path.name.split("-")[1]).exists()}


GROUPS_BEFORE = groups_of_the_dead()
