"""Lines of a file that a notebook stands for, told as lines of its cells."""

from pathlib import Path

import pytest
from stand_ins import expectation
from stand_ins.notebooks import as_bytes, cells_of, code_cell, markdown_cell, notebook_of

from grader.judge.grade import grade
from grader.judge.setup.request import Request
from grader.judge.setup.start import ForkServer
from grader.labs.documents.notebook import convert
from grader.labs.documents.places import Place, in_cells
from grader.labs.results import Verdict
from grader.readers import Budget

DEMO = expectation.find(expectation.DEMO)
STUB = DEMO.stub.read_text("utf-8")
PLACES = (Place("3", 10, 19, 2), Place("norm", 20, 29, 5))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("  line 10 in f: x", "  cell 3, line 2 in f: x"),
        ("at line 29: y", "at cell norm, line 14: y"),
        ("lines 20 and line 21", "lines 20 and cell norm, line 6"),
        ("line 30 is of no cell", "line 30 is of no cell"),
        (
            "ValueError: line 10 is bad\n  line 10 in f",
            "ValueError: line 10 is bad\n  cell 3, line 2 in f",
        ),
        ("cell 4 of the notebook: line 10: no", "cell 4 of the notebook: line 10: no"),
    ],
)
def test_line_of_the_file_is_one_of_a_cell(message: str, said: str) -> None:
    assert in_cells(message, PLACES) == said


def test_each_cell_has_its_place_in_the_code() -> None:
    cells = [markdown_cell("# Mine"), *cells_of(DEMO, STUB)]
    moved = next(i for i, cell in enumerate(cells) if "%%task store" in cell["source"])
    cells[moved] = code_cell(cells[moved]["source"].replace("\n", "\n\n  \n", 1))

    found = convert(DEMO, as_bytes(notebook_of(cells)), "mine.ipynb", Budget())

    lines = found.code.decode().split("\n")
    assert len(found.places) == len(cells) - 1
    for place in found.places:
        cell = cells[int(place.cell) - 1]["source"].split("\n")
        for line in range(place.first, place.last + 1):
            assert cell[line - place.first + place.inside - 1] == lines[line - 1]


def test_graded_notebook_is_told_by_its_cells(tmp_path: Path, sessions: ForkServer) -> None:
    scale = "%%task scale\n\n\ndef scale(x, factor):\n    return x.no_such_thing"
    file = tmp_path / "mine.ipynb"
    file.write_bytes(as_bytes(notebook_of([markdown_cell("# Mine"), code_cell(scale)])))

    report = grade(Request(DEMO, file, suite="public"), start=sessions)

    (test,) = [test for test in report.tests if test.id == "test_doubles"]
    assert test.verdict is Verdict.ERROR
    assert "cell 2, line 5 in scale: return x.no_such_thing" in test.message
