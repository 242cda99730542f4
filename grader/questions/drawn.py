"""What a student is asked: numbers and the order of options, drawn by hash of lab, question and id.

No state and no generator: a service and a terminal draw the same, in any version of Python.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from grader.questions.question import PLACE, Drawn, Question

LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BRACES = {"{{": "{", "}}": "}"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as one student gets it; with no values drawn for nobody."""

    question: Question
    values: Mapping[str, Drawn]
    order: tuple[int, ...]  # of the options: its first is the place in the file of option a

    @property
    def asks(self) -> str:
        """What is asked, with what was drawn."""
        return self._filled(self.question.asks)

    @property
    def options(self) -> tuple[str, ...]:
        """The options in the order in which the student sees them."""
        return tuple(self._filled(self.question.options[place]) for place in self.order)

    def worded(self, question: Question) -> "Asked":
        """Return the same in the words of another language."""
        return replace(self, question=question)

    def _filled(self, text: str) -> str:
        return PLACE.sub(lambda found: _BRACES.get(found[0]) or str(self.values[found[1]]), text)


def normal_id(student: str) -> str:
    """Return a student's id as the roster compares them: without spaces around, in one case."""
    return student.strip().casefold()


def draw(lab: str, question: Question, student: str) -> Asked:
    """Draw a question of a lab, by its name, for a student."""
    of = lab, question.id, normal_id(student)
    values = {
        name: choices[pick((*of, "draw", name), len(choices))]
        for name, choices in question.draws.items()
    }
    places = range(len(question.options))
    order = sorted(places, key=lambda place: _hash((*of, "option", str(place))))
    return Asked(question, values, tuple(order))


def draw_all(lab: str, questions: Iterable[Question], student: str) -> tuple[Asked, ...]:
    """Draw all questions of a lab for a student."""
    return tuple(draw(lab, question, student) for question in questions)


def pick(of: Iterable[str], count: int) -> int:
    """Return a number below ``count`` that some words decide."""
    return _hash(of) % count


def _hash(words: Iterable[str]) -> int:
    text = "\0".join(words).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest(), "big")
