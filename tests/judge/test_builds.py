"""Builds of a submission as gates of its tasks, and what is kept of them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins import expectation
from stand_ins.isolation import require_sandbox

from grader.judge import builds
from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.labs.lab import Lab, load_lab
from grader.labs.results import Report, Verdict
from grader.sandbox.building import Compiler, build_file

LAB = expectation.find("93_twice")
CODE = (LAB.solutions / "twice.py").read_text()
SOURCE = (LAB.solutions / "twice.cpp").read_text()
BROKEN = "def twice(x):\n    return (\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the demo course, whose builds nobody else has made."""
    if Compiler.find(LAB.builds[0]) is None:
        pytest.skip(LAB.builds[0].install)
    ignore = shutil.ignore_patterns(".inferlab")
    return shutil.copytree(expectation.COURSE, tmp_path_factory.mktemp("c") / "demo", ignore=ignore)


@pytest.fixture
def lab(course: Path) -> Lab:
    return load_lab(course / "labs" / LAB.name)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of what is really built."""
    names: list[str] = []

    def build(build, *args, **kwargs):
        names.append(build.name)
        return build_file(build, *args, **kwargs)

    monkeypatch.setattr(builds, "build_file", build)
    return iter([names])


def handed_in(
    lab: Lab,
    folder: Path,
    code: str = CODE,
    source: str | None = SOURCE,
    tasks: tuple[str, ...] = (),
) -> Report:
    """Grade code and source, in the sandbox."""
    require_sandbox()
    (folder / "twice.py").write_text(code)
    if source is not None:
        (folder / "twice.cpp").write_text(source)
    return grade(Request(lab, folder, "cpu", 1, "required", tasks=tasks))


def gate(report: Report, task: str) -> tuple[Verdict, str]:
    return next((t.verdict, t.message) for t in report.tests if t.id == f"build[{task}]")


def points(report: Report) -> dict[str, float | None]:
    tasks = report.tasks[:3]
    return {task.id: task.score if task.graded else None for task in tasks}


def test_right_submission_earns_all_but_what_wants_a_gpu(lab: Lab, tmp_path: Path) -> None:
    report = handed_in(lab, tmp_path)

    assert points(report) == {"kernel": 45, "wrapper": 30, "device": None}
    told = "twice.cu is compiled where there is a GPU"
    assert gate(report, "device") == (Verdict.NOT_GRADED, told)


def test_task_graded_alone_waits_for_no_build_of_another(lab: Lab, tmp_path: Path) -> None:
    report = handed_in(lab, tmp_path, tasks=("wrapper",))

    assert [test.id for test in report.tests if test.id.startswith("build")] == ["build[wrapper]"]
    assert not [test for test in report.tests if test.verdict is Verdict.INFRA]


def test_same_source_is_built_once_whatever_the_code(
    lab: Lab, tmp_path: Path, made: Iterator[list[str]]
) -> None:
    names = next(made)
    source = SOURCE + "// of this test\n"

    first = handed_in(lab, tmp_path, source=source)
    second = handed_in(
        lab, tmp_path, CODE.replace("demo93.twice(x)", "demo93.twice(x) + 1"), source
    )

    assert names == ["twice"]
    assert points(first) == {"kernel": 45, "wrapper": 30, "device": None}
    assert points(second) == {"kernel": 45, "wrapper": 0, "device": None}


def test_what_is_kept_is_no_more_than_some_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builds, "MOST_KEPT", 3)

    for number in range(5):
        builds._keep(tmp_path / "kept" / f"{number}.so", b"made")

    assert len([*(tmp_path / "kept").iterdir()]) == 3
    assert builds._recalled(tmp_path / "kept" / "4.so") == b"made"


def test_disk_that_takes_nothing_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("no folder")

    builds._keep(tmp_path / "kept" / "a.so", b"made")

    assert builds._recalled(tmp_path / "kept" / "a.so") == b""


def test_build_that_fails_closes_its_tasks_and_shows_why(lab: Lab, tmp_path: Path) -> None:
    report = handed_in(lab, tmp_path, source="int a = b;\n")

    verdict, message = gate(report, "kernel")
    assert verdict is Verdict.FAILED
    assert "twice.cpp:1:9: error" in message
    assert points(report) == {"kernel": 0, "wrapper": 0, "device": None}


def test_source_that_is_missing_is_told(lab: Lab, tmp_path: Path) -> None:
    report = handed_in(lab, tmp_path, source=None)

    assert gate(report, "kernel") == (Verdict.FAILED, "there is no twice.cpp")


def test_code_that_cannot_be_read_costs_no_task_of_the_library_alone(
    lab: Lab, tmp_path: Path
) -> None:
    report = handed_in(lab, tmp_path, BROKEN)

    assert points(report) == {"kernel": 45, "wrapper": 0, "device": None}


def test_code_that_raises_costs_no_task_of_the_library_alone(lab: Lab, tmp_path: Path) -> None:
    report = handed_in(lab, tmp_path, "raise ValueError\n")

    assert points(report) == {"kernel": 45, "wrapper": 0, "device": None}


def test_operator_that_no_library_has_is_named(lab: Lab, tmp_path: Path) -> None:
    report = handed_in(lab, tmp_path, source=SOURCE.replace("demo93", "demo39"))

    messages = [test.message for test in report.tests if test.task == "kernel"]
    assert any("no library has registered torch.ops.demo93.twice" in text for text in messages)


def test_library_that_does_not_load_says_what_it_lacks(lab: Lab, tmp_path: Path) -> None:
    source = SOURCE.replace(
        "Tensor twice(Tensor x) {", "void gone();\nTensor twice(Tensor x) {\ngone();"
    )

    report = handed_in(lab, tmp_path, source=source)

    messages = [test.message for test in report.tests if test.task == "kernel"]
    assert any("undefined symbol: _Z4gonev" in text for text in messages)


def test_machine_without_a_compiler_grades_the_rest_and_says_what_to_install(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Compiler, "find", lambda _: None)

    report = handed_in(lab, tmp_path)

    told = "this machine has no g++: apt-get install g++"
    assert gate(report, "kernel") == (Verdict.NOT_GRADED, told)
    assert points(report) == dict.fromkeys(("kernel", "wrapper", "device"))
    assert {t.verdict for t in report.tests if t.suite == "hidden"} == {Verdict.NOT_GRADED}
    assert report.graded == 0 or report.tasks[3].graded


def test_single_file_takes_the_source_of_its_name_along(lab: Lab, tmp_path: Path) -> None:
    require_sandbox()
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "mine.cpp").write_text(SOURCE)
    (tmp_path / "twice.cpp").write_text("int other = wrong;")

    report = grade(Request(lab, tmp_path / "mine.py", "cpu", 1, "required"))

    assert points(report) == {"kernel": 45, "wrapper": 30, "device": None}
