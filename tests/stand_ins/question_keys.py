"""Right answers of the labs' questions, and all that may be drawn for one."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

from grader import ROOT
from grader.labs.lab import find_lab
from grader.questions.definitions import read_questions
from grader.questions.key import Key, read_key


@cache
def key(lab: int) -> Key:
    """Return the right answers of a lab."""
    found = read_key(find_lab(str(lab), ROOT))
    assert found is not None
    return found


def answer(lab: int, id: str) -> Callable[..., Any]:
    """Return what computes the right answer to a question of a lab."""
    return key(lab).functions[id]


def drawn(lab: int, id: str) -> Iterator[dict[str, Any]]:
    """Return all that may be drawn for a question."""
    questions = read_questions(find_lab(str(lab), ROOT).folder)
    draws = next(question.draws for question in questions if question.id == id)
    for values in product(*draws.values()):
        yield dict(zip(draws, values, strict=True))
