"""How what the sanitizer found is told to a student."""

import pytest

from grader.errors import Mismatch
from grader.proxy.instruments.mistakes import INTRODUCTION, MAX_FOUND, Mistake, Sanitized, told

LINES = ["@triton.jit", "def kernel(x):", "    tl.store(x, tl.load(x) + 1)"]


def mistake(line: int = 3, kind: str = "write-write") -> Mistake:
    return Mistake(kind, line, "x", f"Program 1 does {kind} at {line}.", 4)


def test_a_line_is_shown_once_with_what_was_found_there() -> None:
    found = [mistake(kind="read-write"), mistake(), mistake(1, "masked")]

    assert told(found, LINES).splitlines() == [
        INTRODUCTION,
        "  line 3: tl.store(x, tl.load(x) + 1)",
        "    read-write: Program 1 does read-write at 3.",
        "    write-write: Program 1 does write-write at 3.",
        "  line 1: @triton.jit",
        "    masked: Program 1 does masked at 1.",
    ]


def test_many_mistakes_are_no_flood() -> None:
    shown = told([mistake(line) for line in range(1, 8)], LINES).splitlines()

    assert len(shown) == 8
    assert shown[-1] == "  and 4 more like these"


@pytest.mark.parametrize("line", [-(10**9), -1, 0, 4, 10**9])
def test_a_line_that_the_file_has_not_is_named_alone(line: int) -> None:
    assert told([mistake(line)], LINES).splitlines()[1] == f"  line {line}"


def test_a_worker_may_say_no_more_than_its_form() -> None:
    one = {"kind": "k" * 99, "line": 2, "tensor": "t" * 99, "text": "x" * 999, "count": 1}
    sanitized = Sanitized()

    sanitized.take([{"findings": [{**one, "program": [1]}] * 50, "partial": True}])

    assert sanitized.partial
    assert len(sanitized.found) == MAX_FOUND
    assert sanitized.found[0] == Mistake("k" * 20, 2, "t" * 60, "x" * 500, 1)


@pytest.mark.parametrize(
    "reading",
    [
        [],
        ["nothing"],
        [{"findings": [], "partial": "no"}],
        [{"findings": ["race"], "partial": False}],
        [{"findings": [{"kind": "write-write", "line": "3"}], "partial": False}],
    ],
)
def test_what_has_not_its_form_fails(reading: list[object]) -> None:
    with pytest.raises(Mismatch):
        Sanitized().take(reading)
