"""What a page of answers comes to: how many there are, and where a course asks it, how many right.

Points are those of one more task, ``questions``, whose tests are the questions. Without the right
answers, which students do not have, a page is only read.
"""

import tomllib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import UsageError
from grader.labs.lab import ANSWERED, Lab
from grader.labs.results import Expected, TestResult, Verdict
from grader.labs.task import Task
from grader.labs.toml import Table
from grader.languages.language import word
from grader.questions.definitions import in_chinese, read_questions
from grader.questions.drawn import Asked, draw, normal_id
from grader.questions.judging import Judged, Standing, judge, others_of, read
from grader.questions.key import Key
from grader.questions.page import read_page
from grader.questions.question import Question
from grader.text import visible_line

TASK = SUITE = "questions"
COURSE = "course.toml"
MOST_POINTS = 100.0  # of answers: as many as the rest of a lab has
TITLE = word("Check yourself")
HINT = f"write {ANSWERED} by lab questions, and type an answer below each question"
FOREIGN = "numbers that were drawn for another student count nothing"
VERDICTS = {Standing.RIGHT: Verdict.PASSED}


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one submission, each judged or only read; ``problem`` is of the whole page."""

    judged: dict[str, Judged]  # by question, in the lab's order
    student: str = ""  # for whom the page was drawn
    problem: str = ""

    @property
    def answered(self) -> int:
        """How many places are not empty."""
        return sum(found.standing is not Standing.EMPTY for found in self.judged.values())

    def extras(self) -> dict[str, Any]:
        """Return what a report says of the form alone: nothing of what is right."""
        unreadable = {
            id: found.says
            for id, found in self.judged.items()
            if found.standing is Standing.UNREADABLE
        }
        told: dict[str, Any] = {"asked": len(self.judged), "answered": self.answered}
        told |= {"student": visible_line(self.student, 80)} if self.student else {}
        told |= {"unreadable": unreadable} if unreadable else {}
        return told | ({"problem": self.problem} if self.problem else {})

    def tests(self) -> list[TestResult]:
        """Return a test of each question."""
        return [
            TestResult(
                *(id, TASK, SUITE, VERDICTS.get(found.standing, Verdict.FAILED), _message(found))
            )
            for id, found in self.judged.items()
        ]


def _message(found: Judged) -> str:
    match found.standing:
        case Standing.RIGHT:
            return ""
        case Standing.UNREADABLE:
            return f"cannot be read: {found.says}"
        case Standing.WRONG:
            return f"wrong: it {found.says}" if found.says else word("wrong")
        case _:
            return "not answered"


def answers_of(
    lab: Lab, content: bytes | None, key: Key | None, students: Collection[str] = ()
) -> Answers:
    """Read a page of answers, and judge them where there is a ``key``.

    ``students`` are those who handed it in, if that is known: what is drawn for any of them counts.
    """
    questions = read_questions(lab.folder)
    empty = {question.id: Judged(Standing.EMPTY) for question in questions}
    if content is None:
        return Answers(empty)
    try:
        page = read_page(content, [*empty])
    except UsageError as error:
        return Answers(empty, problem=visible_line(error.message))
    known = {normal_id(student) for student in students}
    foreign = bool(known) and normal_id(page.student) not in known
    told = f"{ANSWERED} was drawn for {visible_line(page.student, 80)}: {FOREIGN}"
    chinese = {item.id: item for item in in_chinese(lab.folder, questions)}
    judged = {
        question.id: _judged(
            draw(lab.name, question, page.student),
            page.answers.get(question.id, ""),
            chinese,
            key,
            foreign=foreign,
        )
        for question in questions
    }
    return Answers(judged, page.student, told if foreign else "")


def _judged(
    asked: Asked, text: str, chinese: dict[str, Question], key: Key | None, *, foreign: bool
) -> Judged:
    others = others_of(asked, chinese)
    found = read(asked, text, others) if key is None else judge(asked, text, key, others)
    if foreign and asked.values and found.standing in (Standing.RIGHT, Standing.WRONG):
        return Judged(Standing.WRONG, "has numbers that were drawn for another student")
    return found


@dataclass(frozen=True, slots=True)
class QuestionRule:
    """What a course says of questions."""

    points: float  # that the answers to a lab give; 0 without
    hide_answers: bool  # model answers stay with the staff


def question_rule(table: Table) -> QuestionRule:
    """Read ``[questions]`` of course.toml; a mistake raises ``LabError``."""
    points = table.number("points", 0.0) if "points" in table.data else 0.0
    if points > MOST_POINTS:
        raise table.error("points", f"must be at most {MOST_POINTS:g}, not {points:g}")
    rule = QuestionRule(points, table.flag("hide_answers"))
    table.finish()
    return rule


def points_of(root: Path) -> float:
    """Return the points of answers in the course whose file lies in a repository; 0 without one."""
    try:
        data = tomllib.loads((root / COURSE).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return 0.0
    except (OSError, ValueError) as error:
        raise UsageError(visible_line(f"{COURSE} cannot be read: {error}")) from None
    return question_rule(Table(COURSE, "", data).table("questions")).points


def task(points: float) -> Task:
    """Return the task that answers give points of."""
    return Task(TASK, TITLE, points, HINT)


def expected(lab: Lab) -> list[Expected]:
    """Return the tests of a lab's questions, which count alike."""
    return [Expected(question.id, TASK, SUITE) for question in read_questions(lab.folder)]


def not_graded(lab: Lab) -> Iterator[TestResult]:
    """Return what is said of the questions where right answers are not there, or not used."""
    for question in read_questions(lab.folder):
        told = "they are judged with the hidden tests"
        yield TestResult(question.id, TASK, SUITE, Verdict.NOT_GRADED, told)


def unreadable(asked: Sequence[Asked], answers: dict[str, str]) -> dict[str, str]:
    """Return what of some answers cannot be read, with the why."""
    found = {item.question.id: read(item, answers.get(item.question.id, "")) for item in asked}
    return {id: each.says for id, each in found.items() if each.standing is Standing.UNREADABLE}
