"""What a lab promises, held against its handout, its lab.toml and its tests."""

import shutil
from pathlib import Path

import pytest

from grader.course.publishing.new import write_lab
from grader.labs.lab import find_lab
from grader.prove.contracts import check_contracts
from grader.prove.findings import Outcome

HANDOUT, TOML = "labs/11_prefix_cache/README.md", "labs/11_prefix_cache/lab.toml"
PUBLIC = "labs/11_prefix_cache/test_prefix_cache.py"
HIDDEN = "grader/suites/test_11_prefix_cache.py"
TOLD = "## Run it", "Tried by the hidden tests only: 3.\n\n## Run it"

BROKEN = {
    "a row of the handout is missing": (
        HANDOUT,
        "| 2 | The result is new and has the dtype of x |\n",
        "",
        f"{HANDOUT}: handout lists the contracts: | 2 | The result is new and has the dtype of x |",
    ),
    "the handout says it otherwise": (
        HANDOUT,
        "| 1 | Each row loses its own mean |",
        "| 1 | Each row loses its mean |",
        f"{HANDOUT}: handout lists the contracts: | 1 | Each row loses its own mean |",
    ),
    "rows in another order": (
        HANDOUT,
        "| 1 | Each row loses its own mean |\n| 2 | The result is new and has the dtype of x |",
        "| 2 | The result is new and has the dtype of x |\n| 1 | Each row loses its own mean |",
        f"{HANDOUT}: handout lists the contracts: the order is not that of lab.toml",
    ),
    "no hidden test": (
        HIDDEN,
        "contract=2",
        "contract=1",
        f"{HIDDEN}: tests try every contract: no test of contract 2",
    ),
    "no public test": (
        PUBLIC,
        "contract=3",
        "contract=1",
        f"{PUBLIC}: tests try every contract: no test of contract 3",
    ),
    "the handout denies a public test": (
        HANDOUT,
        *TOLD,
        f"{PUBLIC}: tests try every contract: a test of contract 3, which the handout denies",
    ),
    "a test names none": (
        PUBLIC,
        '"center", contract=1',
        '"center"',
        f"{PUBLIC}: tests name their contract: test_example_of_the_handout does not",
    ),
    "a contract is worth next to nothing": (
        TOML,
        "number = 3\n",
        "number = 3\nweight = 0.1\n",
        f"{TOML}: each contract shows in the points: one of center is worth less than 5% of it",
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new lab, as it is written."""
    root = tmp_path_factory.mktemp("root")
    (root / "labs").mkdir()
    write_lab(root, "11_prefix_cache")
    return root


@pytest.fixture
def root(written: Path, tmp_path: Path) -> Path:
    """A copy of the lab, to be broken."""
    return Path(shutil.copytree(written, tmp_path / "root"))


def problems(root: Path) -> list[str]:
    findings = [*check_contracts(find_lab("11", root))]
    assert findings
    failed = [item for item in findings if item.outcome is not Outcome.OK]
    return [f"{item.file}: {item.rule}: {item.got}" for item in failed]


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_new_lab_keeps_its_word(written: Path) -> None:
    assert problems(written) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_kept_is_named(root: Path, name: str) -> None:
    file, old, new, told = BROKEN[name]
    change(root / file, old, new)

    assert told in problems(root)


def test_hidden_tests_may_keep_a_contract_to_themselves(root: Path) -> None:
    change(root / PUBLIC, "contract=3", "contract=1")
    change(root / HANDOUT, *TOLD)

    assert problems(root) == []


def test_lab_without_contracts_promises_nothing(root: Path) -> None:
    text = (root / TOML).read_text()
    before, _, after = text.partition("[[tasks.contracts]]")
    (root / TOML).write_text(before + after[after.index("[[tasks]]") :])

    assert [*check_contracts(find_lab("11", root))] == []
