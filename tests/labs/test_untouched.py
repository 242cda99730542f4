"""What comes back as it was given out is nothing, and one line of a student's own is something."""

import codecs

import pytest
from stand_ins import expectation
from stand_ins.notebooks import as_bytes, cells_of, markdown_cell, notebook_of

from grader import ROOT
from grader.labs.documents.notebook import PROMPT_HEADING
from grader.labs.documents.submission import PSEUDOCODE_NAME, files_of_notebook
from grader.labs.documents.untouched import holds_nothing, is_untouched
from grader.labs.lab import Lab, all_labs
from grader.readers import Budget

LAB = expectation.find(expectation.DEMO)
STUB = LAB.stub.read_bytes()
PROMPTS = LAB.pseudocode.read_bytes()


def handed(code: bytes, text: bytes | None) -> dict[str, bytes]:
    return {"echo.py": code} | ({} if text is None else {PSEUDOCODE_NAME: text})


@pytest.mark.parametrize(
    "code",
    [
        STUB,
        STUB.replace(b"\n", b"\r\n"),
        STUB.replace(b"\n", b"\r"),
        STUB.replace(b"\n", b" \t\n"),
        STUB + b"\n\n  \n",
        STUB.rstrip(),
        codecs.BOM_UTF8 + STUB,
    ],
)
def test_what_editors_do_to_a_stub_is_no_work(code: bytes) -> None:
    assert is_untouched(LAB, code)


@pytest.mark.parametrize(
    "code",
    [
        b"",
        STUB + b"x = 1\n",
        b"\n" + STUB,
        STUB.replace(b"    ", b"  "),
        STUB.replace(b"Echo", b"echo"),
        STUB.decode().encode("utf-16"),
    ],
)
def test_any_other_change_of_a_stub_is_a_touch(code: bytes) -> None:
    assert not is_untouched(LAB, code)


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"",
        b" \n\r\n",
        PROMPTS,
        PROMPTS.replace(b"\n", b"\r\n"),
        PROMPTS.replace(b"> ", b"  > "),
        b"\n".join(reversed(PROMPTS.splitlines())),
        b"# Pseudocode for lab 90\n",
    ],
)
def test_prompts_without_an_answer_are_nothing(text: bytes | None) -> None:
    assert holds_nothing(LAB, handed(STUB, text))


@pytest.mark.parametrize("answer", [b"1. multiply", b"# multiply", b"> multiply", b"\xff", b"-"])
def test_a_line_of_ones_own_below_the_prompts_is_something(answer: bytes) -> None:
    assert not holds_nothing(LAB, handed(STUB, PROMPTS + answer))
    assert not holds_nothing(LAB, handed(STUB, answer))


def test_code_is_something_whatever_the_pseudocode_says() -> None:
    assert not holds_nothing(LAB, handed(STUB + b"x = 1\n", PROMPTS))


def test_sources_are_something_once_they_are_not_as_given_out() -> None:
    lab = expectation.find("93_twice")
    given = {name: (lab.folder / name).read_bytes() for name in lab.handed_in}

    assert holds_nothing(lab, given)
    assert not holds_nothing(lab, given | {"twice.cpp": b"int x;"})


def given_out(lab: Lab, answer: str = "") -> bytes:
    """A notebook of a lab's stub and prompts, as they are."""
    prompts = lab.pseudocode.read_text("utf-8").split("\n## ")[1:]
    words = [section.partition("\n") for section in prompts]
    cells = cells_of(lab, lab.stub.read_text("utf-8"))
    cells += [
        markdown_cell(f"{PROMPT_HEADING}{name.strip('` ')}\n{text}{answer}")
        for name, _, text in words
    ]
    return as_bytes(notebook_of(cells))


@pytest.mark.parametrize("lab", [LAB, *all_labs(ROOT)], ids=lambda lab: lab.name)
def test_a_notebook_of_stubs_and_prompts_is_nothing(lab: Lab) -> None:
    files, *_ = files_of_notebook(lab, given_out(lab), None, "it", Budget())

    assert PSEUDOCODE_NAME in files
    assert holds_nothing(lab, files)


def test_a_notebook_with_an_answer_is_something() -> None:
    files, *_ = files_of_notebook(LAB, given_out(LAB, "\nmultiply"), None, "it", Budget())

    assert is_untouched(LAB, files["echo.py"])
    assert not holds_nothing(LAB, files)
