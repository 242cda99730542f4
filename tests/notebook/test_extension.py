"""The magics in a real kernel: what reaches the file, what is graded, and what never counts."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.filled import answer_parts, copied

from grader import ROOT
from grader.labs.documents.sections import bodies
from grader.labs.lab import Lab, find_lab
from grader.notebook.build import code_source
from grader.notebook.files import notebook_file, write_notebook

pytest.importorskip("ipykernel", reason="needs the extra [notebook]")

from stand_ins.kernel import Kernel, kernel_in

ANSWERS = answer_parts(find_lab("1", ROOT))
STUB = find_lab("1", ROOT).stub.read_text("utf-8")
NORM = code_source("norm", ANSWERS["norm"])
IMPORTS = code_source("imports", ANSWERS["imports"])


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return find_lab("1", copied(ROOT, tmp_path_factory.mktemp("course"), hidden=False))


@pytest.fixture(scope="module")
def running(course: Lab) -> Iterator[Kernel]:
    with kernel_in(course) as kernel:
        yield kernel


@pytest.fixture
def kernel(running: Kernel, course: Lab) -> Kernel:
    """The kernel, with the lab as it was given out."""
    course.stub.write_text(STUB)
    course.pseudocode.write_bytes((ROOT / "labs/01_llama/PSEUDOCODE.md").read_bytes())
    notebook_file(course).unlink(missing_ok=True)
    write_notebook(course, lambda _: "")
    running.answers.clear()
    return running


def section(course: Lab, name: str = "norm") -> str:
    return bodies(course, course.stub.read_text("utf-8"))[name]


def test_cell_is_run_and_put_in_its_place(kernel: Kernel, course: Lab) -> None:
    first, second = kernel.run(IMPORTS), kernel.run(NORM)
    played = kernel.run("float(rms_norm(torch.ones(1, 4) * 2, torch.ones(4), 0.0).sum())")

    assert [first.error, second.error] == [""] * 2
    assert first.text == "imports: written to labs/01_llama/llama.py, lines 1 to 14\n"
    place = re.fullmatch(
        r"norm: written to labs/01_llama/llama.py, lines (\d+) to .*\n", second.text
    )
    assert place
    line = course.stub.read_text("utf-8").splitlines()[int(place[1]) - 1]
    assert line == ANSWERS["norm"].splitlines()[0]
    assert played.plain == "4.0"
    new = bodies(course, STUB) | {"norm": ANSWERS["norm"], "imports": ANSWERS["imports"]}
    assert bodies(course, course.stub.read_text("utf-8")) == new


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        (
            "%%task nrom\nx = 1",
            "error: lab 1 has no task 'nrom' to write\nhint: its cells: im",
        ),
        ("%%task norm\nx = 1\n%timeit x", "error: line 3: %timeit x is a magic or shell line"),
        ("%%task norm\ndef rms_norm(", "error: line 2: SyntaxError: '(' was never closed"),
        ("%%task norm\nx = 1\n# --- rope ----", "error: a line of the cell is the heading of rope"),
        ("%%task norm\nraise RuntimeError", "norm was not put into llama.py, since it raises here"),
        ("%check nrom", "error: lab 1 has no task 'nrom'\nhint: its tasks: norm, rope"),
        ("%grade norm", "error: %grade grades the whole lab\nhint: one task: %check norm"),
        ("%hint nrom", "error: lab 1 has no task 'nrom'"),
        ("%lab 77", "error: there is no lab '77'"),
    ],
)
def test_mistake_is_told_and_the_file_stays(
    kernel: Kernel, course: Lab, cell: str, told: str
) -> None:
    got = kernel.run(cell)

    assert got.text.startswith(told)
    assert got.error == ("RuntimeError" if "RuntimeError" in cell else "")
    assert course.stub.read_text("utf-8") == STUB


def test_hint_is_the_labs(kernel: Kernel, course: Lab) -> None:
    assert kernel.run("%hint norm").text.strip() == course.task("norm").hint.strip()


def test_verdict_says_what_was_asked_and_what_came(kernel: Kernel) -> None:
    unwritten = kernel.run("%check norm")
    kernel.run(IMPORTS)
    kernel.run(NORM.replace("+ eps)", "+ 2 * eps)"))
    wrong = kernel.run("%check norm")
    kernel.run(NORM)
    right = kernel.run("%check norm")

    assert "✗ not yet · norm: 0 of 10 points" in unwritten.html
    assert "nothing is written yet" in unwritten.html
    for text in ("norm: 8.33 of 10", "expected  [[0.25,", "✗✗✗ 0.208514", "contract 3: eps"):
        assert text in wrong.html
    assert "expected  [[0.25," in wrong.plain
    assert "\x1b" not in wrong.plain
    assert len(wrong.html) < 6000
    assert "✓ passed · norm: 10 of 10 points" in right.html
    assert right.line[0] == "grading norm …"
    assert re.fullmatch(r"norm: \d+ s", right.line[-1])
    assert "<script" not in wrong.html + right.html


def test_lines_are_those_of_the_cell(kernel: Kernel) -> None:
    kernel.run(IMPORTS)
    above, body = NORM.split("\n", 1)
    cell = f"{above}\n\n{body}\n    raise AssertionError\n"
    cell = re.sub(r"\n    return .*", "\n    raise IndexError('line 3')", cell)
    number = cell.split("\n").index("    raise IndexError('line 3')") + 1

    kernel.run(cell)
    called = kernel.run("rms_norm(torch.ones(1, 4), torch.ones(4), 0.0)")
    graded = kernel.run("%check norm")
    kernel.run(cell.replace("\n\n", "\n", 1))
    moved = kernel.run("%check norm")
    raising = kernel.run("%%task norm\n\nx = 1\nraise KeyError")

    assert f", line {number}" in called.traceback or f"<cell line: {number}>" in called.traceback
    assert f"cell norm, line {number} in rms_norm: raise IndexError" in graded.plain
    assert "IndexError: line 3" in graded.plain
    assert f"cell norm, line {number - 1} in rms_norm: raise IndexError" in moved.plain
    assert re.search(r"-+> 4 raise KeyError", raising.traceback)


def test_extension_that_is_loaded_again_says_nothing(kernel: Kernel) -> None:
    again = kernel.run("%load_ext grader.notebook")
    third = kernel.run("%load_ext grader.notebook\n%lab 1")

    assert (again.text, again.error, third.error) == ("", "", "")
    assert third.text.startswith("Lab 01 · ")
    assert third.text.count("\n") == 1


def test_state_of_the_kernel_changes_no_verdict(kernel: Kernel) -> None:
    kernel.run(IMPORTS)
    kernel.run(NORM)
    kernel.run(
        "import os, sys, torch, grader.judge.grade, grader.proxy.values.compare as compare\n"
        "os.environ.update(PYTHONPATH='/nowhere', HOME='/nowhere', MODEL='/nowhere')\n"
        "os.chdir('/'); sys.path.clear(); sys.executable = '/bin/false'\n"
        "torch.sqrt = lambda x: x; torch.allclose = lambda *_: True\n"
        "compare.assert_close = lambda *_, **__: None; grader.judge.grade.grade = None\n"
        "rms_norm = None"
    )

    assert "✓ passed · norm: 10 of 10 points" in kernel.run("%check norm").html
    assert "✗ not yet · rope: 0 of 10 points" in kernel.run("%check rope").html


@pytest.mark.parametrize(
    ("answers", "kept", "next_input"),
    [
        ([], "mine = 1", ""),
        (["?"], "mine = 1", ""),
        (["f"], "mine = 1", "%%task norm\nmine = 1"),
        (["c"], "x = 2", ""),
    ],
)
def test_newer_text_of_the_file_is_not_written_over_unasked(
    kernel: Kernel, course: Lab, answers: list[str], kept: str, next_input: str
) -> None:
    kernel.run("%%task norm\nx = 1")
    text = course.stub.read_text("utf-8")
    course.stub.write_text(text.replace("x = 1", "mine = 1"))
    kernel.answers.extend(answers)

    got = kernel.run("%%task norm\nx = 2")

    assert section(course) == kept
    assert got.next_input == next_input
    assert got.asked == ["Keep the cell's text (c) or the file's (f)? [neither] "] * len(answers)
    assert "norm has changed in llama.py since this cell and the file were the same" in got.text


def test_answers_are_taken_from_the_notebook_as_it_was_saved(kernel: Kernel, course: Lab) -> None:
    file = notebook_file(course)
    text = file.read_text("utf-8")
    head = '"### Pseudocode: norm\\n",'
    assert head in text
    file.write_text(text.replace(head, head + ' "\\n", "square each x\\n",'))

    got = kernel.run("%check pseudocode")

    assert "square each x" in course.pseudocode.read_text("utf-8")
    assert "✗ not yet · pseudocode" in got.html


def test_interrupt_ends_the_grading_and_not_the_kernel(kernel: Kernel, course: Lab) -> None:
    kernel.run("%%task norm\ndef rms_norm(*_):\n    while True:\n        pass")
    request = kernel.begin("%check norm")
    ends = time.monotonic() + 60
    while not judges(course) and time.monotonic() < ends:
        time.sleep(0.1)
    assert judges(course)
    time.sleep(2)
    kernel.manager.interrupt_kernel()

    got = kernel.end(request, 30)

    assert got.error == "KeyboardInterrupt"
    assert got.text.startswith("interrupted: nothing was graded")
    assert re.match(r"grading norm … \d+ s", got.line[1])
    assert kernel.run("6 * 7").plain == "42"
    ends = time.monotonic() + 20
    while judges(course) and time.monotonic() < ends:
        time.sleep(0.1)
    assert judges(course) == []


def judges(course: Lab) -> list[int]:
    """Return the processes that the judge of this course has now."""
    found: list[int] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if str(course.root).encode() in line and b"ipykernel" not in line:
                found.append(int(folder.name))
    return found


def test_handing_in_asks_and_says_what_it_would_do(kernel: Kernel) -> None:
    got = kernel.run("%submit")

    assert not got.error
    assert "is no git repository with a commit" in got.text
