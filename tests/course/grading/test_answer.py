"""Notebooks in a student's repository: when one stands for the code, and what is told of it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from stand_ins import expectation
from stand_ins.notebooks import as_bytes, code_cell, markdown_cell, notebook_of, right
from stand_ins.remotes import Remote

from grader.course.grading.collecting.answer import state_of, take
from grader.course.grading.collecting.branch import Commit, last_change
from grader.course.grading.collecting.fetch import Broken
from grader.readers import Budget

LAB = expectation.find(expectation.DEMO)
STUB = LAB.stub.read_text("utf-8")
ANSWER = (LAB.solutions / "echo.py").read_bytes()
DAY = datetime(2026, 10, 1, tzinfo=UTC)
NOTEBOOK = as_bytes(right(LAB)).decode()


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "class.git")


def committed(remote: Remote, files: dict[str, str], day: int = 0) -> str:
    onto = {"onto": "refs/heads/ada^0"} if day else {}
    return remote.commit("ada", files, DAY + timedelta(days=day), **onto)


@pytest.mark.parametrize("place", ["90_echo/", "labs/90_echo/", ""])
@pytest.mark.parametrize("beside", [{}, {"echo.py": STUB}])
def test_notebook_stands_for_code_that_nobody_wrote(
    remote: Remote, place: str, beside: dict[str, str]
) -> None:
    cells = [*right(LAB)["cells"], markdown_cell("### Pseudocode: scale\nmultiply")]
    named = {"echo.ipynb": as_bytes(notebook_of(cells)).decode(), **beside}
    commit = committed(remote, {place + name: text for name, text in named.items()})

    files, remark = take(remote.folder, commit, LAB, Budget())

    text = b"# Pseudocode for lab 90\n\n## scale\n\nmultiply\n"
    assert files == {"echo.py": ANSWER, "PSEUDOCODE.md": text}
    assert remark == f"taken from {place}echo.ipynb"


def test_a_task_whose_cell_is_gone_is_named(remote: Remote) -> None:
    cells = [cell for cell in right(LAB)["cells"] if "%%task scale" not in "".join(cell["source"])]
    commit = committed(remote, {"echo.ipynb": as_bytes(notebook_of(cells)).decode()})

    files, remark = take(remote.folder, commit, LAB, Budget())

    gone = "no cell begins with %%task scale: the task counts as not written"
    assert remark == f"taken from echo.ipynb; {gone}"
    assert b"the notebook has no cell that begins with %%task scale" in files["echo.py"]
    assert ANSWER[ANSWER.index(b"class Store") :] in files["echo.py"]


def test_code_of_ones_own_comes_before_a_notebook(remote: Remote) -> None:
    commit = committed(remote, {"echo.py": "mine", "echo.ipynb": NOTEBOOK})

    assert take(remote.folder, commit, LAB, Budget()) == ({"echo.py": b"mine"}, "")
    assert state_of(remote.folder, commit, LAB).keys() == {"echo.py"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "echo.ipynb is no valid JSON (line 1): save the notebook again"),
        (" " * ((1 << 20) + 1), "echo.ipynb is larger than 1024 KiB: its outputs can be cleared"),
    ],
)
def test_notebook_of_no_use_is_told(remote: Remote, text: str, why: str) -> None:
    alone = committed(remote, {"echo.ipynb": text})
    answered = {"echo.py": STUB, "PSEUDOCODE.md": "multiply"}
    beside = committed(remote, {"echo.ipynb": text, **answered}, day=1)

    with pytest.raises(Broken, match=why.replace("(", r"\(").replace(")", r"\)")):
        take(remote.folder, alone, LAB, Budget())
    files, remark = take(remote.folder, beside, LAB, Budget())
    assert files == {name: words.encode() for name, words in answered.items()}
    assert remark == f"the stub is taken, since {why}"


def test_notebook_dates_the_work_only_where_it_counts(remote: Remote) -> None:
    committed(remote, {"echo.py": STUB, "echo.ipynb": NOTEBOOK})
    second = committed(remote, {"echo.py": STUB, "echo.ipynb": NOTEBOOK + " "}, day=1)
    third = committed(remote, {"echo.py": "mine", "echo.ipynb": NOTEBOOK}, day=2)
    last = committed(remote, {"echo.py": "mine", "echo.ipynb": NOTEBOOK + "  "}, day=3)

    changed = [
        last_change(remote.folder, Commit(name, DAY + timedelta(days=9)), LAB).hash
        for name in (second, last)
    ]

    assert changed == [second, third]


def test_all_that_a_student_has_handed_in_has_one_budget(remote: Remote) -> None:
    slow = code_cell('%%task scale\nx = f"' + "{a}" * 80_000 + '"')
    text = as_bytes(notebook_of([slow, *right(LAB)["cells"]])).decode()
    commit, budget = committed(remote, {"echo.ipynb": text}), Budget(2)

    first, _ = take(remote.folder, commit, LAB, budget)
    again, _ = take(remote.folder, commit, LAB, budget)

    told = "cell 1 of the notebook: its code needs more than the 6 s of processor time"
    assert told in first["echo.py"].decode()
    assert told in again["echo.py"].decode()
    assert -2.5 < budget.left < 0.5
