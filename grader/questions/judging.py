"""Whether an answer is right: what was typed beside what the instructors' function gives."""

import ast
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from grader.questions import typed
from grader.questions.arithmetic import (
    Undefined,
    Unreadable,
    check_names,
    evaluate,
    parse,
)
from grader.questions.drawn import LETTERS, Asked, pick
from grader.questions.interpreter import run
from grader.questions.key import Key
from grader.questions.library import Meter, Stopped
from grader.questions.program import read_program
from grader.questions.question import Kind, Question

MOST_TYPED = 8000  # characters of an answer
MOST_SHORT = 1000  # the same, of what is no formula and no program
POINTS = 12  # at which a formula is tried
LARGEST = 97  # of a name's value there
NEAR = 1e-9  # relative, of what floats come to
CASE_STEPS = 100_000


class Standing(StrEnum):
    """What is known of an answer."""

    RIGHT = "right"
    WRONG = "wrong"
    READ = "answered"  # it can be read; nobody has judged it
    UNREADABLE = "cannot be read"
    EMPTY = "not answered"


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer's standing, and what is to be said of it; never what would be right."""

    standing: Standing
    says: str = ""

    @property
    def is_right(self) -> bool:
        """Whether it earns what the question gives."""
        return self.standing is Standing.RIGHT


def read(asked: Asked, text: str, others: Sequence[Asked] = ()) -> Judged:
    """Tell whether an answer can be read; ``others`` is the question in other languages."""
    try:
        value = value_of(asked, text, others)
    except (Unreadable, Undefined) as error:
        return Judged(Standing.UNREADABLE, str(error))
    return Judged(Standing.EMPTY if value is None else Standing.READ)


def judge(asked: Asked, text: str, key: Key, others: Sequence[Asked] = ()) -> Judged:
    """Judge an answer as it was typed."""
    try:
        value = value_of(asked, text, others)
    except (Unreadable, Undefined) as error:
        return Judged(Standing.UNREADABLE, str(error))
    if value is None:
        return Judged(Standing.EMPTY)
    return judge_value(asked, value, key)


def value_of(asked: Asked, text: str, others: Sequence[Asked] = ()) -> Any:
    """Return what was typed as a value, None for nothing; raises ``Unreadable``."""
    if len(text) > MOST_TYPED:
        raise Unreadable(f"is longer than {MOST_TYPED} characters")
    question = asked.question
    text = typed.cleaned(_unfenced(text))
    if not text.strip("`*_ \n.-") and text != "-":
        return None
    if len(text) > MOST_SHORT and question.kind not in (Kind.FORMULA, Kind.PROGRAM):
        raise Unreadable(f"is longer than {MOST_SHORT} characters")
    match question.kind:
        case Kind.PROGRAM:
            return read_program(text, question.function, question.parameters)
        case Kind.NUMBER:
            return typed.number(text, [question.unit, *(item.question.unit for item in others)])
        case Kind.CHOICE:
            return asked.order[typed.choice(text, _wordings(asked, others))]
        case Kind.CHOICES:
            found = typed.choices(text, _wordings(asked, others))
            return frozenset(asked.order[place] for place in found)
        case Kind.ORDER:
            return tuple(asked.order[at] for at in typed.order(text, _wordings(asked, others)))
        case Kind.SHAPE:
            return typed.shape(text)
        case _:
            tree = parse(typed.formula(text))
            check_names(tree, question.names)
            return tree


def _unfenced(text: str) -> str:
    """Return a text without the fence of code around it."""
    lines = text.strip("\n").split("\n")
    inner = [line for line in lines if not line.strip().startswith(("```", "~~~"))]
    return "\n".join(inner)


def _wordings(asked: Asked, others: Sequence[Asked]) -> list[tuple[str, ...]]:
    return [*zip(asked.options, *(item.options for item in others), strict=True)]


def judge_value(asked: Asked, value: Any, key: Key) -> Judged:
    """Judge an answer that was read."""
    question = asked.question
    function = key.functions[question.id]
    match question.kind:
        case Kind.FORMULA:
            return _judged_formula(question, value, function, key)
        case Kind.PROGRAM:
            return _judged_program(question, value, function, key)
        case Kind.NUMBER:
            is_right = near(value, exact(function(**asked.values)), question.tolerance)
        case _:
            is_right = value == options_value(asked, function(**asked.values))
    return Judged(Standing.RIGHT if is_right else Standing.WRONG)


def right_answer(asked: Asked, key: Key, shown: Asked | None = None) -> str:
    """Return what a student should have answered; options in the words in which it is ``shown``.

    Each option has a line, with its letter.
    """
    question, shown = asked.question, shown or asked
    if question.kind in (Kind.FORMULA, Kind.PROGRAM):
        return str(key.right[question.id][0])
    value = key.functions[question.id](**asked.values)
    if question.kind is Kind.NUMBER:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        return f"{text} {shown.question.unit}".strip()
    if question.kind is Kind.SHAPE:
        return str(options_value(asked, value))
    found = options_value(asked, value)
    places = [found] if isinstance(found, int) else found
    kept = places if question.kind is Kind.ORDER else [at for at in shown.order if at in places]
    letters = dict(zip(shown.order, LETTERS, strict=False))
    words = dict(zip(shown.order, shown.options, strict=True))
    return "\n".join(f"{letters[at]}. {words[at]}" for at in kept) or "none"


def exact(value: Any) -> Fraction:
    """Return a number of ours as it is written, so that 0.1 is a tenth."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is no answer")
        return Fraction(repr(value))
    return Fraction(value)


def near(value: Fraction, right: Fraction, tolerance: float) -> bool:
    """Tell whether a number is within a relative tolerance, its ends included."""
    return abs(value - right) <= exact(tolerance) * abs(right)


def options_value(asked: Asked, said: Any) -> Any:
    """Return options that are named in words as places, and a shape as a tuple."""
    match asked.question.kind:
        case Kind.CHOICE:
            return place_of(asked, said)
        case Kind.CHOICES:
            return frozenset(place_of(asked, item) for item in said)
        case Kind.ORDER:
            return tuple(place_of(asked, item) for item in said)
        case _:
            return tuple(int(item) for item in said)


def place_of(asked: Asked, said: Any) -> int:
    """Return the place in the file of an option in its own words, drawn or as written."""
    written = asked.question.options
    for at, place in enumerate(asked.order):
        if said in (asked.options[at], written[place]):
            return place
    raise ValueError(f"{said!r} is none of the options")


def points(question: Question, key: Key) -> list[dict[str, int]]:
    """Return the values of the names at which a formula is tried: given ones, else drawn ones."""
    given = key.cases.get(question.id)
    if given:
        return [dict(zip(question.names, case, strict=True)) for case in given]
    return [
        {name: 1 + pick((question.id, "point", str(at), name), LARGEST) for name in question.names}
        for at in range(POINTS)
    ]


def _judged_formula(
    question: Question, tree: ast.AST, function: Callable[..., Any], key: Key
) -> Judged:
    for point in points(question, key):
        right = function(**point)
        try:
            value = evaluate(tree, {name: Fraction(number) for name, number in point.items()})
        except Undefined as error:
            return Judged(Standing.WRONG, str(error))
        if not near(value, exact(right), NEAR if isinstance(right, float) else 0):
            return Judged(Standing.WRONG)
    return Judged(Standing.RIGHT)


def _judged_program(
    question: Question, tree: ast.FunctionDef, function: Callable[..., Any], key: Key
) -> Judged:
    cases = key.cases[question.id]
    lost, why = 0, ""
    for case in cases:
        right = function(*copy.deepcopy(case))
        try:
            value = run(tree, copy.deepcopy(case), Meter(CASE_STEPS))
            is_right = same(value, right)
        except Stopped as stopped:
            is_right, why = False, why or str(stopped)
        lost += not is_right
    if not lost:
        return Judged(Standing.RIGHT)
    return Judged(Standing.WRONG, why or f"gives another result in {lost} of {len(cases)} cases")


def same(value: Any, right: Any) -> bool:
    """Compare what a program gives with what is right; floats need not be the same to the bit."""
    if isinstance(right, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(right):
            return False
        return all(same(here, there) for here, there in zip(value, right, strict=True))
    if isinstance(right, bool) or isinstance(value, bool) or right is None or value is None:
        return value is right
    if not isinstance(value, int | float):
        return False
    if isinstance(value, float) or isinstance(right, float):
        try:
            return math.isclose(value, right, rel_tol=NEAR, abs_tol=1e-12)
        except OverflowError:
            return False
    return value == right


def others_of(asked: Asked, questions: Mapping[str, Question]) -> list[Asked]:
    """Return the same question in the words of another language, if there are any."""
    other = questions.get(asked.question.id)
    return [asked.worded(other)] if other is not None else []
