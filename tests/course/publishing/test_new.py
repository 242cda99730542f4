"""lab new: every file of a lab, a skeleton that the proof accepts, and nothing overwritten."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stand_ins.instructors import ROOT

import grader.course.commands.author
from grader.cli.app import main
from grader.course.publishing.new import SKELETON, write_lab
from grader.errors import UsageError
from grader.labs.lab import find_lab
from grader.prove.files import check_files
from grader.prove.findings import Outcome

FILES = [
    *("grader/suites/test_11_prefix_cache.py", "labs/11_prefix_cache/PSEUDOCODE.md"),
    *("labs/11_prefix_cache/README.md", "labs/11_prefix_cache/lab.toml"),
    *("labs/11_prefix_cache/prefix_cache.py", "labs/11_prefix_cache/test_prefix_cache.py"),
    *("reference/prefix_cache.py", "solutions/11_prefix_cache/ANSWERS.md"),
    *("solutions/11_prefix_cache/PSEUDOCODE.md", "solutions/11_prefix_cache/prefix_cache.py"),
    "solutions/11_prefix_cache/variants/by_a_product.py",
    "solutions/11_prefix_cache/wrong/in_place.py",
    "solutions/11_prefix_cache/wrong/mean_of_all_rows.py",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "labs" / "02_batching").mkdir(parents=True)
    return tmp_path


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_every_file_of_a_lab_is_written(root: Path) -> None:
    written = write_lab(root, "11_prefix_cache")

    assert files_below(root) == FILES
    assert sorted(str(path.relative_to(root)) for path in written) == FILES
    for path in written:
        assert "$" not in path.read_text()
    assert "# Lab 11: Prefix cache" in (root / "labs/11_prefix_cache/README.md").read_text()
    assert "make grade LAB=11\n" in (root / "labs/11_prefix_cache/README.md").read_text()


def test_no_template_is_left_over(root: Path) -> None:
    both = write_lab(root, "11_prefix_cache") + write_lab(root, "12_design", manual=True)

    assert len(both) == len(list(SKELETON.iterdir()))


def test_the_files_hold_against_the_contract_of_a_lab(root: Path) -> None:
    write_lab(root, "11_prefix_cache")

    findings = list(check_files(find_lab("11", root)))

    assert findings
    assert [finding for finding in findings if finding.outcome is Outcome.FAILED] == []


def test_a_lab_that_people_grade_needs_three_files(root: Path) -> None:
    files = write_lab(root, "11_prefix_cache", manual=True)

    lab = find_lab("11", root)
    names = sorted(str(file.relative_to(root)) for file in files)
    own = "labs/11_prefix_cache/"
    assert names == [f"{own}DESIGN.md", f"{own}README.md", f"{own}lab.toml"]
    assert lab.files == ("DESIGN.md",)
    assert {finding.outcome for finding in check_files(lab)} == {Outcome.OK}


def test_the_lab_passes_its_proof_as_it_is(tmp_path: Path) -> None:
    """Stub nothing, right answers everything, wrong ones their task: a skeleton that is a lab."""
    for name in ("grader", "reference"):
        ignored = shutil.ignore_patterns("__pycache__", "test_0*", "baseline_*")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    (tmp_path / "labs").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NO_COLOR": "1"}

    def lab(*arguments: str) -> str:
        command = [sys.executable, "-m", "grader", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "next: lab check 11" in lab("new", "11_prefix_cache")
    told = lab("check", "11", "--seeds", "1", "--device", "cpu")

    assert "failed" not in told
    (line,) = [line for line in told.splitlines() if line.startswith("11_prefix_cache: ")]
    assert line.endswith(", 1 warning")  # it is in English only
    assert int(line.split()[1]) >= 25  # rules that were held against it


@pytest.mark.parametrize(
    "there", ["reference/prefix_cache.py", "solutions/11_prefix_cache/ANSWERS.md"]
)
def test_what_is_there_is_not_overwritten(root: Path, there: str) -> None:
    file = root / there
    file.parent.mkdir(parents=True)
    file.write_text("mine")

    with pytest.raises(UsageError, match=f"^{there} exists already$"):
        write_lab(root, "11_prefix_cache")

    assert files_below(root) == [there]
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("prefix_cache", "'prefix_cache' is no name of a lab"),
        ("1_cache", "is no name of a lab"),
        ("011_cache", "is no name of a lab"),
        ("11-cache", "is no name of a lab"),
        ("11_Cache", "is no name of a lab"),
        ("11_cache_", "is no name of a lab"),
        ("11_../../etc", "is no name of a lab"),
        ("11_", "is no name of a lab"),
        ("00_cache", "numbered from 01"),
        ("02_cache", "lab 2 is there already: labs/02_batching"),
        ("11_lambda", "'lambda' is the name of a module or of a part of Python"),
        ("11_queue", "'queue' is the name of a module"),
        ("11_torch", "'torch' is the name of a module"),
    ],
)
def test_a_wrong_name_writes_nothing(root: Path, name: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        write_lab(root, name)

    assert problem in caught.value.message
    assert files_below(root) == []


def test_a_taken_number_names_a_free_one(root: Path) -> None:
    with pytest.raises(UsageError) as caught:
        write_lab(root, "02_cache")
    assert caught.value.hint == "01 is free"


def test_a_lab_that_cannot_be_written_leaves_nothing_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "solutions").write_text("a file in the way")
    monkeypatch.setattr(grader.course.commands.author, "find_root", lambda: root)

    assert main(["new", "11_prefix_cache"]) == 2

    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: cannot write the lab: ")
    assert hint == "hint: nothing of the lab is left behind"
    assert files_below(root) == ["solutions"]
    assert sorted(path.name for path in root.iterdir()) == ["labs", "solutions"]
    assert [path.name for path in (root / "labs").iterdir()] == ["02_batching"]
