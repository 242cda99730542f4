"""What each part of the repository may import, and that nothing is declared twice."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.import_graph import ROOT, imports, python_files

from grader.course.publishing.tree import EXPLORER
from grader.labs.lab import Lab, all_labs

LABS = all_labs(ROOT)
OURS = frozenset({"grader", "bench", "labs", "reference", "solutions", "tests"})
PACKAGES = frozenset({"torch", "triton"})
# The given code reads checkpoints and tokenizers, so that the student does not have to.
GIVEN_PACKAGES = PACKAGES | {"numpy", "safetensors", "tokenizers", "transformers"}
# An oracle may read a checkpoint, and what trains the checkpoints is no oracle.
ORACLE_PACKAGES = PACKAGES | {"safetensors"}
TRAINING = frozenset({"corpus", "measure", "pretrain", "training"})
TRAINING_PACKAGES = ORACLE_PACKAGES | {"tokenizers", "transformers", "typer"}
NO_NAMES = frozenset({"base.py", "helpers.py", "manager.py", "util.py", "utils.py"})


def tops(file: Path) -> set[str]:
    found = {name.partition(".")[0] for name in imports(file)}
    return found - sys.stdlib_module_names


def of(file: Path, package: str) -> set[str]:
    """The modules of one of our packages that a file imports."""
    found = {name.split(".")[1] for name in imports(file) if name.startswith(f"{package}.")}
    return found & {path.stem for path in (ROOT / package).iterdir()}


def shown(files: list[Path]) -> list[str]:
    return [str(file.relative_to(ROOT)) for file in files]


def parametrize(files: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("file", files, ids=shown(files))


@parametrize([file for file in python_files("grader", "bench") if file.parent.name != "suites"])
def test_the_judge_never_imports_what_it_judges_with_or_judges(file: Path) -> None:
    ours = {"grader", "bench"}  # test_rooms says who may import bench
    if file.is_relative_to(ROOT / "bench" / "engine"):
        ours.add("reference")  # it times the engine there, and judges nothing
    assert tops(file) & OURS <= ours


@parametrize(python_files("grader/suites"))
def test_a_hidden_suite_imports_the_judge_and_the_oracles_only(file: Path) -> None:
    assert tops(file) & OURS <= {"grader", "reference"}


@parametrize(sorted(lab.public_suite for lab in LABS if lab.public_suite.is_file()))
def test_a_public_suite_imports_the_judge_only(file: Path) -> None:
    assert tops(file) & OURS <= {"grader"}


@parametrize(python_files("reference"))
def test_an_oracle_stands_on_torch_alone(file: Path) -> None:
    packages = TRAINING_PACKAGES if file.stem in TRAINING else ORACLE_PACKAGES

    assert tops(file) <= packages | {"reference"}
    parts = {part for name in imports(file) for part in name.split(".")[1:]}
    assert file.stem in TRAINING or not parts & TRAINING


@parametrize(sorted({*(ROOT / "labs").glob("*.py")} - {ROOT / EXPLORER}))
def test_given_code_imports_other_given_code_only(file: Path) -> None:
    given = {path.stem for path in (ROOT / "labs").glob("*.py")}

    assert tops(file) <= GIVEN_PACKAGES | {"labs"}
    assert {name.split(".")[1] for name in imports(file) if name.startswith("labs.")} <= given


def submissions() -> Iterator[tuple[Lab, Path]]:
    for lab in LABS:
        yield lab, lab.stub
        for file in sorted(lab.solutions.rglob("*.py")):
            yield lab, file


@pytest.mark.parametrize(
    ("lab", "file"), [pytest.param(*pair, id=shown([pair[1]])[0]) for pair in submissions()]
)
def test_an_answer_imports_what_its_lab_lists(lab: Lab, file: Path) -> None:
    found = tops(file)

    assert found & OURS <= {"labs"}
    assert of(file, "labs") <= set(lab.given)
    # A wrong answer may be wrong by an import.
    assert "wrong" in file.parts or found <= {*lab.imports, "labs"}


def test_the_proof_alone_leads_past_the_sandbox() -> None:
    files = python_files("grader", "bench", "tests")
    forks = [
        file.stem for file in files if any("prove.forking.forked" in name for name in imports(file))
    ]

    assert sorted(forks) == [
        "run_tripwire",
        "runner",
        "test_forked",
        "test_stopwatch",
        "test_tripwire",
    ]


def strings(file: Path) -> Iterator[str]:
    """The string literals of a file that are no docstrings."""
    tree = ast.parse(file.read_bytes())
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield node.value


@parametrize([file for file in python_files("grader") if file.parent.name != "suites"])
def test_the_judge_knows_no_lab_by_name(file: Path) -> None:
    found = [text for text in strings(file) for lab in LABS if lab.name in text]

    assert found == []


def test_the_names_of_a_lab_follow_from_its_folder() -> None:
    for lab in LABS:
        assert re.fullmatch(r"\d\d_[a-z0-9_]+", lab.name)
        assert lab.stub.is_file()
        assert lab.pseudocode.is_file()


def test_no_file_is_named_for_nothing() -> None:
    files = python_files("grader", "bench", "labs", "solutions", "reference", "tests")

    assert [file for file in shown(files) if Path(file).name in NO_NAMES] == []


def test_no_two_files_of_tests_have_one_name() -> None:
    # pytest imports a file by its bare name: a second one of that name ends the whole run.
    names = [file.name for file in ROOT.glob("tests/**/test_*.py")]

    assert sorted(name for name in set(names) if names.count(name) > 1) == []
