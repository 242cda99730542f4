"""Notebooks handed in alone: what is read, and what each thing that can be wrong with one costs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stand_ins import expectation
from stand_ins.notebooks import (
    Data,
    as_bytes,
    cells_of,
    code_cell,
    markdown_cell,
    notebook_of,
    right,
)

from grader import readers
from grader.confined import MOST_TRIES, TOO_SLOW
from grader.errors import UsageError
from grader.labs.documents import notebook
from grader.labs.documents.notebook import Converted, convert, read_cells
from grader.labs.documents.sections import IMPORTS, bodies, names, other_heading, put
from grader.labs.documents.submission import PSEUDOCODE_NAME, Submission, collect
from grader.labs.lab import Lab
from grader.readers import BOOT, Budget

DEMO = expectation.find(expectation.DEMO)
REAL = expectation.find("03_sampling")
STUB = DEMO.stub.read_text("utf-8")
TASKS = ("scale", "store", "loop")
SCALE = "def scale(x, factor):\n    return x\n"


def taken(data: Any) -> Converted:
    return convert(
        DEMO, data if isinstance(data, bytes) else as_bytes(data), "hand.ipynb", Budget()
    )


def problems(found: Converted) -> dict[str, str]:
    """Return by task what its functions raise in place of being unwritten."""
    texts = bodies(DEMO, found.code.decode())
    return {
        task: texts[task].rpartition("raise SyntaxError(")[2][1:-2]
        for task in TASKS
        if "raise SyntaxError(" in texts[task]
    }


# What is read


def test_unfilled_notebook_is_the_stub() -> None:
    found = taken(notebook_of(cells_of(DEMO, STUB)))

    assert (found.code, found.pseudocode, found.notes) == (STUB.encode(), None, ())


@pytest.mark.parametrize("lab", [DEMO, REAL], ids=lambda lab: lab.name)
def test_sections_of_a_stub_put_back_are_the_stub(lab: Lab) -> None:
    text = lab.stub.read_text("utf-8")

    assert put(lab, text, bodies(lab, text)) == text
    assert names(lab)[0] == IMPORTS


def test_section_put_in_its_place_leaves_the_others_alone() -> None:
    text = REAL.stub.read_text("utf-8")

    new = put(REAL, text, {"sampler": "\nclass Sampler:\n    pass\n\n"})

    assert bodies(REAL, new) == bodies(REAL, text) | {"sampler": "class Sampler:\n    pass"}
    assert other_heading(REAL, "sampler", "x\n# --- Task 3: beam ---") == "beam"
    assert other_heading(REAL, "beam", "x\n# --- Task 3: beam ---\n# --- my own ---") == ""


@pytest.mark.parametrize(
    "cell",
    [
        code_cell(f"%%task scale\n{SCALE}"),
        code_cell(f"\n\n%%task scale  \n{SCALE}"),
        code_cell(["%%task scale\n", *SCALE.splitlines(keepends=True)]),
        code_cell(SCALE, "task:scale"),
        code_cell(f"%%task scale\r\n{SCALE}".replace("\n", "\r\n").replace("\r\r", "\r")),
        code_cell(f"%%task scale\n{SCALE}", outputs=[{"data": {"text/html": "<script>"}}]),
        code_cell(f"%%task scale\n{SCALE}", attachments={"a": {"image/png": "../../etc"}}, id=7),
    ],
    ids=["magic", "blank lines", "list of lines", "tag", "DOS", "output", "attachment"],
)
def test_task_cell_is_found(cell: Data) -> None:
    found = taken(notebook_of([*cells_of(DEMO, STUB)[:1], cell, *cells_of(DEMO, STUB)[2:]]))

    assert problems(found) == {}
    assert bodies(DEMO, found.code.decode())["scale"] == SCALE.rstrip()


def test_notebook_of_format_3_is_read() -> None:
    cells = [
        {"cell_type": "code", "input": cell["source"], "language": "python"}
        for cell in cells_of(DEMO, STUB)
    ]
    sheets = [{"cells": cells[:2]}, {"cells": cells[2:]}]

    found = taken({"nbformat": 3, "nbformat_minor": 0, "worksheets": sheets})

    assert found.code.decode() == STUB


def test_continued_line_that_begins_with_a_percent_sign_is_python() -> None:
    source = f"%%task scale\n{SCALE}x = (7\n  % 4)\nmask = [x\n  !=3]\n"

    assert problems(taken(with_cell(code_cell(source)))) == {}


def test_other_cells_are_left_alone() -> None:
    others = [code_cell("!rm -rf /"), code_cell("%check scale"), markdown_cell("# %%task scale")]

    assert taken(notebook_of([*others, *cells_of(DEMO, STUB)])).code.decode() == STUB


def test_own_imports_stand_above_all_tasks() -> None:
    cells = cells_of(DEMO, STUB)
    cells[0] = code_cell("%%task imports\nfrom __future__ import annotations\nimport torch")

    found = taken(notebook_of(cells)).code.decode()

    assert found.startswith("from __future__ import annotations\nimport torch\n\n\ndef scale(")


def test_answers_to_prompts_become_pseudocode() -> None:
    answers = [
        markdown_cell("### Pseudocode: scale\n\n> the prompt\n\nmultiply in float32"),
        markdown_cell("round once", "pseudocode:store"),
        markdown_cell("### Pseudocode: nothing\nx"),
    ]

    found = taken(notebook_of([*cells_of(DEMO, STUB), *answers]))

    text = (found.pseudocode or b"").decode()
    assert text == (
        "# Pseudocode for lab 90\n\n## scale\n\n> the prompt\n\nmultiply in float32\n\n"
        "## store\n\nround once\n"
    )
    assert found.notes == ("cell 7: lab 90 asks for no pseudocode for nothing",)


def test_outputs_of_50_megabytes_are_ignored() -> None:
    cells = cells_of(DEMO, STUB)
    cells[2]["outputs"] = [{"output_type": "display_data", "data": {"image/png": "A" * (50 << 20)}}]

    assert taken(notebook_of(cells)).code.decode() == STUB


# What is no notebook of the lab is refused as a whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n ", "is empty"),
        (SCALE.encode(), "is no JSON, so no notebook: is it Python under another name?"),
        (b"PK\x03\x04\x00\x00", "is no JSON"),
        (b"\xff\xfe{\x00}\x00", "is not UTF-8 text, as notebooks are: the file is in UTF-16, "),
        (b'{"cells": "\xe4"}', "is not UTF-8 text, as notebooks are: line 1: byte 0xe4 is no "),
        (
            b'{\n"cells": [\n<<<<<<< HEAD\n],\n=======\n7],\n>>>>>>> other\n"nbformat": 4}',
            "is no valid JSON: line 3: `<<<<<<< HEAD` is the mark of a merge conflict: keep one",
        ),
        (b'{"cells": [', "is no valid JSON (line 1): save the notebook again"),
        (b'{\n"cells": [],\n}', "is no valid JSON (line 3)"),
        (b"[1, 2]", "is JSON but no object"),
        (b"7", "is JSON but no object"),
        (b"[" * 100_000, "is nested too deeply"),
        (as_bytes({"cells": []}), "names no nbformat"),
        (as_bytes({"nbformat": "4", "cells": []}), "names no nbformat"),
        (as_bytes({"nbformat": True, "cells": []}), "names no nbformat"),
        (as_bytes({"nbformat": 2, "cells": []}), "is of nbformat 2; 3 and 4 can be read"),
        (as_bytes({"nbformat": 5, "cells": []}), "is of nbformat 5; 3 and 4 can be read"),
        (as_bytes({"nbformat": 10**80, "cells": []}), "is of nbformat 100000000; 3 and 4"),
        (as_bytes({"nbformat": 4}), "has no list of cells"),
        (as_bytes({"nbformat": 4, "cells": {"a": 1}}), "has no list of cells"),
        (as_bytes({"nbformat": 3, "cells": []}), "has no list of cells"),
        (as_bytes({"nbformat": 3, "worksheets": [7]}), "has no list of cells"),
        (as_bytes(notebook_of([])), "has no cell for a task of lab 90"),
        (as_bytes(notebook_of([code_cell(SCALE)])), "has no cell for a task of lab 90"),
        (
            as_bytes(notebook_of([code_cell("%%task rope\nx = 1")])),
            "has no cell for a task of lab 90; cell 1: lab 90 has no task rope to write code for",
        ),
    ],
)
def test_what_is_no_notebook_of_the_lab_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        taken(content)

    assert caught.value.message.startswith(f"hand.ipynb {message}")
    assert "\n" not in caught.value.message
    assert caught.value.hint


# What is wrong with a cell costs its task


def with_cell(cell: Any) -> Data:
    """Return the stub's notebook, with a cell in the place of that for ``scale``."""
    cells: list[Any] = [*cells_of(DEMO, STUB)]
    cells[1] = cell
    return notebook_of(cells)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            code_cell("%%task scale\nx = 1\n%timeit x"),
            "cell 2 of the notebook: line 3: %timeit x is a magic or shell line, not Python: "
            "move it to a cell of its own",
        ),
        (code_cell("%%task scale\n!pip install numpy"), "line 2: !pip install numpy is a magic"),
        (code_cell("%%task scale\nfiles = !ls"), "line 2: files = !ls is a magic or shell line"),
        (code_cell("%%task scale\nt = %time 1"), "line 2: t = %time 1 is a magic or shell line"),
        (code_cell("%%task scale\nscale?"), "line 2: scale? is a magic or shell line"),
        (code_cell("%%time\nx = 1", "task:scale"), "line 1: %%time is a magic or shell line"),
        (code_cell("%%time\n%%task scale"), "cell 2 of the notebook: %%task must be the first"),
        (code_cell("# my cell\n%%task scale\nx = 1"), "%%task must be the first line of its cell"),
        (code_cell("%%task scale\ndef scale(:"), "line 2: SyntaxError: "),
        (code_cell("%%task scale\n  x = 1"), "line 2: IndentationError: unexpected indent"),
        (code_cell("%%task scale\nreturn 7"), "line 2: SyntaxError: 'return' outside function"),
        (code_cell("%%task scale\nx = '''"), "line 2: SyntaxError: unterminated triple-quoted"),
        (code_cell("%%task scale\nx = '\0'"), "its code cannot be read: source code"),
        (code_cell("%%task scale\nx = '\ud800'"), "its code cannot be read: 'utf-8' codec can't"),
        (code_cell("%%task scale\n" + "(" * 10_000), "SyntaxError: too many nested parentheses"),
        (code_cell("%%task scale\n" + "-" * 200_000 + "1"), "nested too deeply to be read"),
        (code_cell("%%task scale\n" + "x = 1\n" * 50_000), "it has more than 256 KiB of code"),
        (
            code_cell("%%task scale\nfrom __future__ import annotations"),
            "line 2: imports from __future__ belong into the cell of imports",
        ),
        (markdown_cell(SCALE, "task:scale"), "but is a markdown cell: make it a code cell"),
        (markdown_cell(SCALE, "task:scale") | {"cell_type": "raw"}, "but is a raw cell"),
        (markdown_cell(SCALE, "task:scale") | {"cell_type": ["\x1b"]}, "but is a other cell"),
        (code_cell(7, "task:scale"), "its source is neither text nor a list of lines"),
        (code_cell(["x", 7], "task:scale"), "its source is neither text nor a list of lines"),
        (
            code_cell({"a": SCALE}),
            "no cell that begins with %%task scale (cell 2: its source is neither text nor a list",
        ),
        (code_cell(SCALE), "the notebook has no cell that begins with %%task scale"),
        ("%%task scale", "%%task scale (cell 2 is no object, and was left out)"),
        (None, "%%task scale (cell 2 is no object, and was left out)"),
        (code_cell(f"%%task\n{SCALE}"), "%%task scale (cell 2: %%task names no task)"),
        (code_cell(f"%%task nrom\n{SCALE}"), "(cell 2: lab 90 has no task nrom to write code for)"),
        (code_cell(f"%%task scale store\n{SCALE}"), "(cell 2: lab 90 has no task scale store to"),
        (code_cell(f"%%task \x1b[2J\n{SCALE}"), "has no task \\\\x1b[2J to write"),
        (code_cell(SCALE, "task:../../scale"), "(cell 2: lab 90 has no task ../../scale to"),
        (code_cell(SCALE, 7, None, ["task:scale"]), "no cell that begins with %%task scale"),
        (code_cell(SCALE) | {"metadata": {"tags": "task:scale"}}, "no cell that begins with"),
        (code_cell(SCALE) | {"metadata": [1]}, "no cell that begins with %%task scale"),
    ],
)
def test_what_is_wrong_with_a_cell_costs_its_task(cell: Any, message: str) -> None:
    found = taken(with_cell(cell))

    assert problems(found).keys() == {"scale"}
    assert message in problems(found)["scale"].replace("\\'", "'")
    compile(found.code, "echo.py", "exec")


def test_a_task_whose_cell_is_gone_is_named_and_the_others_are_taken() -> None:
    cells = cells_of(DEMO, STUB.replace("def store", "MINE = 1\n\n\ndef store"))

    found = taken(notebook_of([cells[0], *cells[2:]]))

    assert found.notes == ("no cell begins with %%task scale: the task counts as not written",)
    assert problems(found).keys() == {"scale"}
    assert len(cells) > 3


def test_two_cells_of_a_task_must_be_equal() -> None:
    cells = cells_of(DEMO, STUB)
    other = code_cell(f"%%task scale\n{SCALE}")

    twice = taken(notebook_of([*cells, cells[1]]))
    unequal = taken(notebook_of([*cells, other]))

    assert twice.code.decode() == STUB
    assert problems(unequal) == {
        "scale": "cells 2 and 5 of the notebook are all for scale: keep one of them"
    }


def test_magic_decides_where_a_tag_says_something_else() -> None:
    cells = cells_of(DEMO, STUB)
    cells[1]["metadata"] = {"tags": ["task:store"]}

    found = taken(notebook_of(cells))

    assert problems(found) == {}
    told = "cell 2: it says %%task scale, so its tag task:store does not count"
    assert found.notes == (told,)


def test_broken_imports_leave_those_of_the_stub() -> None:
    cells = cells_of(DEMO, STUB)
    cells[0] = code_cell("%%task imports\nimport")

    found = taken(notebook_of(cells))

    assert found.code.decode() == STUB
    assert found.notes[0].startswith("cell 1 of the notebook: line 2: SyntaxError")


def test_notes_are_few_and_on_one_line() -> None:
    cells = [*cells_of(DEMO, STUB), *[code_cell("%%task")] * 50_000, 7]

    assert len(taken(notebook_of(cells)).notes) == 20


READER = """
import os
from grader.labs.documents import cells

own = cells.problem_of
cells.problem_of = lambda source, task: os.abort() if "abort" in source else own(source, task)
main = cells.main
"""


@pytest.fixture
def abortive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a reader end where it reads "abort"."""
    (tmp_path / "abortive.py").write_text(READER)
    monkeypatch.setattr(notebook, "READER", "abortive")
    monkeypatch.setattr(readers, "BOOT", f"import sys; sys.path.append({str(tmp_path)!r}); {BOOT}")


@pytest.mark.usefixtures("abortive")
def test_code_that_ends_the_reader_costs_its_task() -> None:
    cells = cells_of(DEMO, STUB)
    cells[1]["source"] += "\n# abort"

    assert problems(taken(notebook_of(cells))) == {
        "scale": "cell 2 of the notebook: its code is nested too deeply to be read"
    }


@pytest.mark.usefixtures("abortive")
def test_a_notebook_that_ends_its_reader_over_and_over_is_read_no_further() -> None:
    ending = [code_cell("%%task scale\n# abort") for _ in range(MOST_TRIES)]

    found = taken(notebook_of([*ending, *cells_of(DEMO, STUB)]))

    told = f"it was not read, since cell {MOST_TRIES} ended the reading"
    assert problems(found)["store"].endswith(told)


def test_cells_share_what_reading_a_submission_may_take() -> None:
    budget = Budget(1)
    slow = code_cell('%%task scale\nx = f"' + "{a}" * 80_000 + '"')

    cells = read_cells(as_bytes(notebook_of([slow, *cells_of(DEMO, STUB)])), "", budget)

    first, *others = [cell.problem for cell in cells.code]
    assert first.startswith(f"its code {TOO_SLOW}: make ")
    assert {*others} == {"it was not read, since cell 1 ended the reading"}
    assert budget.left < 0.5


# As a submission


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "handed in"
    folder.mkdir()
    (folder / "echo.ipynb").write_bytes(as_bytes(right(DEMO)))
    return folder


def submitted(source: Path) -> Submission:
    return collect(DEMO, source, source.parent / "clean")


@pytest.mark.parametrize("part", ["", "echo.ipynb"])
def test_notebook_is_taken_alone_or_from_its_folder(place: Path, part: str) -> None:
    got = submitted(place / part)

    assert got.code.decode() == (DEMO.solutions / "echo.py").read_text("utf-8")
    assert (got.single_file, [*got.files]) == (True, ["echo.py"])
    assert got.is_notebook


def test_only_notebook_of_a_folder_may_have_any_name(place: Path) -> None:
    (place / "echo.ipynb").rename(place / "echo (1).IPYNB")

    assert "NotImplementedError" not in submitted(place).code.decode()


def test_pseudocode_beside_a_notebook_without_answers_is_taken(place: Path) -> None:
    (place / PSEUDOCODE_NAME).write_text("## scale\nmultiply\n")

    assert submitted(place / "echo.ipynb").pseudocode == b"## scale\nmultiply\n"


@pytest.mark.parametrize(
    ("code", "wins"), [(lambda stub: stub, True), (lambda stub: stub + "\n# mine\n", False)]
)
def test_notebook_stands_for_a_stub_that_nobody_touched(
    place: Path, code: Callable[[str], str], wins: bool
) -> None:
    (place / "echo.py").write_text(code(STUB))

    assert ("NotImplementedError" not in submitted(place).code.decode()) is wins


def test_unreadable_notebook_beside_the_stub_leaves_the_stub(place: Path) -> None:
    (place / "echo.py").write_text(STUB)
    (place / "echo.ipynb").write_text("{")

    assert submitted(place).code.decode() == STUB


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.write_text("{"), "is no valid JSON"),
        (lambda file: (file.unlink(), file.symlink_to(DEMO.stub)), "echo.ipynb is a link"),
        (lambda file: (file.unlink(), file.mkdir()), "echo.ipynb is a folder"),
        (lambda file: (file.unlink(), file.with_name("a.txt").touch()), "has no echo.py"),
        (
            lambda file: [file.with_name(f"{n}.ipynb").touch() for n in "ab"] + [file.unlink()],
            "has 2 notebooks, and none is called echo.ipynb",
        ),
    ],
)
def test_folder_without_a_notebook_of_use_is_refused(
    place: Path, change: Callable[[Path], object], message: str
) -> None:
    change(place / "echo.ipynb")

    with pytest.raises(UsageError) as caught:
        submitted(place)

    assert message in caught.value.message


def test_notebook_above_64_megabytes_is_refused(place: Path) -> None:
    with (place / "echo.ipynb").open("ab") as file:
        file.truncate((64 << 20) + 1)

    with pytest.raises(UsageError) as caught:
        submitted(place / "echo.ipynb")

    assert caught.value.message.endswith("echo.ipynb is larger than 65536 KiB")
    assert "outputs of a notebook can be cleared" in caught.value.hint


def test_more_code_than_a_file_may_have_is_refused(place: Path) -> None:
    cells = cells_of(DEMO, STUB)
    for cell in cells:
        cell["source"] += "\n#" * (100 << 10) + "é" * (30 << 10)
    (place / "echo.ipynb").write_text(json.dumps(notebook_of(cells)))

    with pytest.raises(UsageError) as caught:
        submitted(place)

    assert "has more than 1024 KiB of code" in caught.value.message
