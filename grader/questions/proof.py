"""The proof of a lab's questions: right answers are right and wrong ones wrong, for many students.

Each question is one finding; so is what is wrong with the file of right answers as a whole.
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.errors import LabError
from grader.labs.lab import QUESTIONS, Lab
from grader.questions.definitions import in_chinese, read_questions
from grader.questions.drawn import LETTERS, Asked, draw
from grader.questions.judging import (
    Judged,
    Standing,
    exact,
    judge,
    judge_value,
    options_value,
    others_of,
)
from grader.questions.key import Key, key_file, read_key
from grader.questions.question import Kind, Question

STUDENTS = 200  # at most, whose draws are tried
ONCE = 5  # the same, of a question that draws nothing: options have another order for each
MOST_DRAWS = 60  # different ones, of a question
LEAST = 2  # right ways to type a formula or a program
Problems = Iterator[str]


@dataclass(frozen=True, slots=True)
class Proof:
    """One question, or a file of them, with what is wrong; "" if nothing is."""

    file: str  # of which
    what: str
    problem: str = ""


def prove(lab: Lab) -> Iterator[Proof]:
    """Prove the questions of a lab; one without questions has nothing to prove."""
    asked, answers = f"labs/{lab.name}/{QUESTIONS}", str(key_file(lab).relative_to(lab.root))
    try:
        questions = read_questions(lab.folder)
        chinese = {item.id: item for item in in_chinese(lab.folder, questions)}
        key = read_key(lab)
    except LabError as error:
        yield Proof(asked, "questions can be read", error.message)
        return
    if not questions and key is None:
        return
    if not questions or key is None:
        told = f"there is no {answers}" if questions else f"there is no {asked} that it answers"
        yield Proof(asked if questions else answers, "questions have answers", told)
        return
    problem = "; ".join(_of_files(questions, key))
    yield Proof(answers, "questions have answers", problem)
    for question in questions:
        if question.id in key.functions:
            found = next(_of_question(lab, question, chinese, key), "")
            yield Proof(answers, f"{question.id} is proven", found)


def _of_files(questions: tuple[Question, ...], key: Key) -> Problems:
    """Go through what one of the two files has and the other has not."""
    ids = {question.id for question in questions}
    for id in sorted(ids - key.functions.keys()):
        yield f"no function answers {id}"
    for id in sorted(key.functions.keys() - ids):
        yield f"{id} answers no question (a helper's name begins with _)"
    for name, table in (("RIGHT", key.right), ("WRONG", key.wrong), ("CASES", key.cases)):
        for id in sorted(table.keys() - ids):
            yield f"{name} names {id}, which is no question"


def _of_question(lab: Lab, question: Question, chinese: dict[str, Question], key: Key) -> Problems:
    """Go through what is wrong with a question; the first of it is told."""
    yield from _of_function(question, key)
    yield from _of_counts(question, key)
    for student, asked in _drawn(lab, question):
        others = others_of(asked, chinese)
        of = f" (drawn: {dict(asked.values)})" if asked.values else ""
        try:
            yield from (f"{told}{of}" for told in _of_draw(asked, others, key))
        except Exception as error:  # of the author's functions
            yield f"its function raises {type(error).__name__}: {error}{of}, for {student}"


def _of_function(question: Question, key: Key) -> Problems:
    function = key.functions[question.id]
    if not (inspect.getdoc(function) or "").strip():
        yield "its function has no docstring, which is the model answer's why"
    wanted = {
        Kind.FORMULA: question.names,
        Kind.PROGRAM: question.parameters,
    }.get(question.kind, tuple(question.draws))
    names = tuple(inspect.signature(function).parameters)
    by_name = question.kind not in (Kind.FORMULA, Kind.PROGRAM)
    if names != wanted and not (by_name and sorted(names) == sorted(wanted)):
        yield f"its function takes ({', '.join(names)}), not ({', '.join(wanted)})"


def _of_counts(question: Question, key: Key) -> Problems:
    wrong, right = key.wrong.get(question.id, []), key.right.get(question.id, [])
    least = 2 if question.draws else 1
    if len(wrong) < least:
        yield f"WRONG has {len(wrong)} answers to it, fewer than {least}"
    if question.kind in (Kind.FORMULA, Kind.PROGRAM) and len(right) < LEAST:
        yield f"RIGHT has {len(right)} ways to type it, fewer than {LEAST}"
    if question.kind is Kind.PROGRAM and len(key.cases.get(question.id, [])) < 2:
        yield "CASES has fewer than 2 arguments to judge it by"


def _drawn(lab: Lab, question: Question) -> Iterator[tuple[str, Asked]]:
    """Draw for many students, and keep the first of each draw."""
    seen: set[tuple[Any, ...]] = set()
    students = STUDENTS if question.draws else ONCE
    for student in (f"student{number}" for number in range(students)):
        asked = draw(lab.name, question, student)
        drawn = tuple(asked.values.items()) or asked.order
        if drawn not in seen and len(seen) < MOST_DRAWS:
            seen.add(drawn)
            yield student, asked


def _of_draw(asked: Asked, others: list[Asked], key: Key) -> Problems:
    """Try all answers as one student is asked."""
    question = asked.question
    for item in (asked, *others):
        if len(set(item.options)) < len(item.options):
            yield "two of its options are the same"
    if question.kind not in (Kind.FORMULA, Kind.PROGRAM):
        said = _as_typed(asked, key.functions[question.id](**asked.values))
        if (found := judge(asked, said, key, others)).standing is not Standing.RIGHT:
            yield f"its own answer, typed {said!r}, is judged {found.standing}: {found.says}"
    for answer in key.right.get(question.id, []):
        said = _value(asked, answer)
        found = _judged(asked, said, key, others)
        if found.standing is not Standing.RIGHT:
            why = f": {found.says}" if found.says else ""
            yield f"RIGHT {_shown(said)} is judged {found.standing}{why}"
    for answer in key.wrong.get(question.id, []):
        said = _value(asked, answer)
        found = _judged(asked, said, key, others)
        if found.standing is not Standing.WRONG:
            why = f": {found.says}" if found.says else ""
            yield f"WRONG {_shown(said)} is judged {found.standing}{why}"


def _value(asked: Asked, answer: Any) -> Any:
    """Return an answer that may be a function of what is drawn."""
    is_of_draws = callable(answer) and asked.question.kind not in (Kind.FORMULA, Kind.PROGRAM)
    return answer(**asked.values) if is_of_draws else answer


def _judged(asked: Asked, said: Any, key: Key, others: list[Asked]) -> Judged:
    """Judge text as it is typed, and a value of ours as a student would type it."""
    question = asked.question
    if question.kind is Kind.CHOICE and said in (*asked.options, *question.options):
        return judge_value(asked, options_value(asked, said), key)
    return judge(asked, said if isinstance(said, str) else _as_typed(asked, said), key, others)


def _as_typed(asked: Asked, value: Any) -> str:
    """Write a value of ours as a student would."""
    match asked.question.kind:
        case Kind.NUMBER:
            fraction = exact(value)
            whole = fraction.denominator == 1
            return str(fraction.numerator) if whole else repr(float(fraction))
        case Kind.SHAPE:
            return f"({', '.join(map(str, value))})"
        case Kind.CHOICE:
            return LETTERS[asked.order.index(options_value(asked, value))]
        case Kind.CHOICES:
            places = sorted(asked.order.index(place) for place in options_value(asked, value))
            return ", ".join(LETTERS[place] for place in places) or "none"
        case _:
            return " > ".join(LETTERS[asked.order.index(p)] for p in options_value(asked, value))


def _shown(said: Any) -> str:
    text = repr(said)
    return text if len(text) < 120 else f"{text[:120]}…"
