"""Answers of like wording stand together, and no others."""

import pytest

from grader.course.reading.wording import Answer, answer_in, grouped, normal

FILE = b"""# Pseudocode

## norm

> Which quantity?
> Say why.

1. Square x.
2. Mean + eps

## Rope

turn pairs
"""


def test_an_answer_is_what_stands_below_its_prompt() -> None:
    assert answer_in(FILE, "norm") == "1. Square x.\n2. Mean + eps"
    assert answer_in(FILE.replace(b"\n", b"\r\n"), "rope") == "turn pairs"
    assert answer_in(FILE, "mlp") == ""
    assert answer_in(FILE, "").startswith("# Pseudocode")


@pytest.mark.parametrize(
    "other", ["mean of SQUARES; then eps", "\u201cMean\u201d of\n\nsquares then\teps."]
)
def test_white_space_case_and_punctuation_tell_no_answers_apart(other: str) -> None:
    assert normal(other) == normal("Mean of squares, then eps!")


@pytest.mark.parametrize(
    ("one", "other"), [("a + b", "a - b"), ("x * y", "x y"), ("3 steps", "4 steps"), ("a/b", "ab")]
)
def test_answers_that_say_something_else_stay_apart(one: str, other: str) -> None:
    assert normal(one) != normal(other)


def test_the_largest_group_is_first_and_its_key_is_of_just_its_members() -> None:
    answers = [Answer(name, "c", text) for name, text in (("a", "x"), ("b", "Y."), ("c", "y"))]

    groups = grouped(answers)

    assert [len(group.answers) for group in groups] == [2, 1]
    assert groups[0].wordings == ["Y.", "y"]
    assert grouped([*answers, Answer("d", "c", "y")])[0].key != groups[0].key
    assert grouped(reversed(answers))[0].key == groups[0].key
