"""What is shown of text that a submission wrote."""

import pytest
from stand_ins.sample_reports import HOSTILE

from grader.text import number, visible, visible_line


def test_nothing_that_acts_survives_visible() -> None:
    shown = visible(HOSTILE)

    assert all(char.isprintable() or char in "\n\t" for char in shown)
    assert r"\x1b[2J" in shown
    assert r"\u202e" in shown
    assert r"\ud800" in shown
    shown.encode()  # no surrogate is left


@pytest.mark.parametrize("char", ["\u3164", "\u115f", "\uffa0", "\u034f", "\u17b4", "\U000e0101"])
def test_what_prints_and_is_not_drawn_is_escaped(char: str) -> None:
    shown = visible(f"a{char}b")

    assert shown.isascii()
    assert visible_line(f"a{char}b") == shown


def test_pile_of_marks_does_not_grow_over_other_lines() -> None:
    shown = visible("z" + "\u0336\u0489" * 900)

    assert shown.startswith("z\u0336\u0489\u0336\\u0489")
    assert shown.isprintable()
    assert sum(not char.isascii() for char in shown) == 3


def test_one_line_stays_one_line() -> None:
    assert visible_line("a\nb\r\u2028c") == r"a\nb\r\u2028c"
    assert len(visible_line("x" * 5000)) < 400


def test_long_text_is_cut_and_says_so() -> None:
    assert visible("x" * 1_000_000, 10) == "xxxxxxxxxx\n… 999,990 more characters"


def test_ordinary_text_is_left_alone() -> None:
    text = "größer als 3 → ≤ 4\n\tnaïve 漢字 𝛑 שָׁלוֹם हिन्दी ⚠️"
    assert visible(text) == text


@pytest.mark.parametrize(
    ("value", "written"), [(30.0, "30"), (71.5, "71.5"), (1 / 3, "0.33"), (1234567.0, "1234567")]
)
def test_points_are_written_as_a_person_would(value: float, written: str) -> None:
    assert number(value) == written
