"""lab start: what is laid out in a folder, and that no work in it is ever written over."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import grader.cli.start
from grader.cli.app import app, main
from grader.cli.start import register
from grader.errors import UsageError
from grader.labs.lab import all_labs, find_lab
from grader.start.lay import files_of, lay

DEMO = Path(__file__).resolve().parents[1] / "demo" / "labs"
SHARED = ("AGENTS.md", "Makefile", "README.md", "published.toml", "labs/common.py")
Run = Callable[..., int]


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation that carries the labs of the demo course."""
    tree = tmp_path / "installed" / "tree"
    shutil.copytree(DEMO, tree / "labs", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("AGENTS.md", "README.md", "published.toml"):
        (tree / name).write_text(f"# {name}\n")
    (tree / "Makefile").write_text("ifdef PYTHON\nRUN := $(PYTHON)\nendif\n")
    own = {
        lab.name: sorted(
            [*SHARED, *(f"labs/{lab.name}/{file.name}" for file in lab.folder.iterdir())]
        )
        for lab in all_labs(tree)
    }
    tree.with_name("labs.json").write_text(json.dumps(own))
    monkeypatch.setattr(grader.cli.start, "CARRIED", tree)
    return tree


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    return tmp_path / "mine"


@pytest.fixture
def run(carried: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The program of an installation: in this tree, which carries nothing, it has no such word."""
    assert "start" not in {command.name for command in app.registered_commands}
    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    register(app)
    return lambda *words: main(["start", *words])


def held(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_lab_is_laid_out_file_for_file(carried: Path, folder: Path, run: Run) -> None:
    assert run("90") == 0

    found = held(folder)
    assert {path for path in found if path.startswith("labs/9")} == {
        f"labs/90_echo/{name}"
        for name in ("README.md", "lab.toml", "echo.py", "test_echo.py", "PSEUDOCODE.md")
    }
    assert found.keys() >= {*SHARED}
    for path in found.keys() - {"Makefile"}:
        assert found[path] == (carried / path).read_bytes()
    assert found["Makefile"].startswith(f"PYTHON ?= {sys.executable}\n".encode())


def test_labs_are_listed_with_what_is_here(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    assert "(here)" not in capsys.readouterr().out
    assert held(folder) == {}

    run("90")
    capsys.readouterr()
    assert run() == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "(here)" in line]
    assert [line[:2] for line in lines] == ["90"]


def test_labs_lie_beside_each_other_from_wherever_they_are_started(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("90")
    (folder / "labs/90_echo/echo.py").write_text("# mine\n")
    monkeypatch.chdir(folder / "labs" / "90_echo")

    assert run("91") == 0
    assert (folder / "labs/91_softmax/softmax.py").is_file()
    assert (folder / "labs/90_echo/echo.py").read_text() == "# mine\n"


@pytest.mark.parametrize("name", ["echo.py", "PSEUDOCODE.md"])
def test_work_is_not_written_over(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    run("90")
    (folder / "labs/90_echo" / name).write_text("# mine\n")
    before = held(folder)

    assert run("90") == 2
    assert held(folder) == before
    told = capsys.readouterr().err
    assert f"labs/90_echo/{name} is there already, with work in it" in told
    assert "lab grade 90 goes on with it" in told


def test_an_update_brings_all_but_own_files(carried: Path, folder: Path, run: Run) -> None:
    run("90")
    for place in (carried, folder):
        (place / "labs/90_echo/echo.py").write_text(f"# of {place.name}\n")
    for name in ("labs/common.py", "labs/90_echo/README.md"):
        (carried / name).write_text("new\n")
    (folder / "labs/90_echo/test_echo.py").unlink()

    with pytest.raises(UsageError, match="with work in it"):
        lay(find_lab("90", carried), folder)
    assert run("90", "--update") == 0
    assert (folder / "labs/common.py").read_text() == "new\n"
    assert (folder / "labs/90_echo/README.md").read_text() == "new\n"
    assert (folder / "labs/90_echo/test_echo.py").is_file()
    assert (folder / "labs/90_echo/echo.py").read_text() == "# of mine\n"


def test_a_later_version_says_what_differs_before_it_replaces_it(
    carried: Path, folder: Path, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run("90")
    (carried / "labs/common.py").write_text("new\n")

    assert run("91") == 2
    told = capsys.readouterr().err
    assert "labs/common.py is there already, and not as this version has it" in told
    assert "lab start 91 --update replaces it" in told
    assert not (folder / "labs/91_softmax").exists()


@pytest.mark.parametrize("options", [(), ("--update",)])
def test_files_of_another_project_stay_as_they_are(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    (folder / "README.md").write_text("My own project.\n")

    assert run("90", *options) == 2
    assert held(folder) == {"README.md": b"My own project.\n"}
    assert "Begin in an empty folder" in capsys.readouterr().err


def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path, carried: Path) -> None:
    lab = find_lab("90", carried)
    lay(lab, folder)
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("not of the course\n")
    (folder / "labs/90_echo/README.md").unlink()
    (folder / "labs/90_echo/README.md").symlink_to(elsewhere)

    lay(lab, folder, update=True)
    assert elsewhere.read_text() == "not of the course\n"
    assert (folder / "labs/90_echo/README.md").read_bytes() == files_of(lab)[
        "labs/90_echo/README.md"
    ]


def test_a_makefile_may_name_the_python_of_another_environment(
    carried: Path, folder: Path, run: Run
) -> None:
    run("90")
    makefile = (folder / "Makefile").read_text().replace(sys.executable, "/opt/python")
    (folder / "Makefile").write_text(makefile)

    assert run("91") == 0
    assert (folder / "Makefile").read_text() == makefile


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("7",), "there is no lab '7'"),
        (("--update",), "which lab?"),
        (("--notebook",), "which lab?"),
    ],
)
def test_what_is_meant_by_nothing_is_a_line(
    folder: Path, run: Run, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], told: str
) -> None:
    assert run(*words) == 2
    assert told in capsys.readouterr().err
    assert held(folder) == {}


def test_a_folder_that_cannot_be_written_is_a_line(folder: Path, carried: Path) -> None:
    (folder / "labs").write_text("a file\n")

    with pytest.raises(UsageError, match="labs"):
        lay(find_lab("90", carried), folder)


def test_a_notebook_is_written_too(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nbformat")
    monkeypatch.setattr("grader.cli.notebook.find_root", lambda: folder)

    assert run("90", "--notebook") == 0
    assert (folder / "labs/90_echo/echo.ipynb").is_file()
