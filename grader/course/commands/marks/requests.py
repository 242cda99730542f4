"""Requests of students, for staff at a terminal: listed, written down, answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader.course.analysis.requests import Outcome, outcome
from grader.course.commands.marks.book import (
    check_said,
    known_student,
    open_store,
    points_typed,
    write_data,
)
from grader.course.config import Course, load_course
from grader.course.database.decisions import decisions
from grader.course.database.giving.records import REASON, Answer, Asked, Ending, Request
from grader.course.database.giving.returns import Returns
from grader.course.database.records import REGRADE, Attempt, Override
from grader.course.database.store import Store
from grader.course.gradebook.exports import csv_of
from grader.course.gradebook.gradebook import read_gradebook
from grader.errors import UsageError
from grader.labs.lab import find_lab, find_root
from grader.report.facts.stored import report_of
from grader.text import moment_text, visible_line

LISTS = "lab gradebook requests lists those that are open"
COLUMNS = (
    *("number", "student", "lab", "attempt", "task", "test", "reason", "author", "made"),
    *("state", "answer", "answered_by", "answered", "changes", "note"),
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A request as typed."""

    student: str
    lab: str
    task: str
    test: str
    author: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as typed; ``points`` and ``run`` "": none."""

    number: int
    author: str
    text: str
    points: str
    run: str


def show(course_file: Path, *, everything: bool) -> int:
    """List requests, the oldest first, with what comes next."""
    course = load_course(course_file)
    with open_store(course) as store:
        found = Returns(store).asked(is_open=not everything)
        for asked in found:
            for line in _lines(course, store, asked):
                print(visible_line(line, 3000))
    if not found:
        print("nobody waits for an answer" if not everything else "nobody has asked for anything")
    return 0


def export(course_file: Path, output: str) -> int:
    """Write all requests as CSV."""
    course = load_course(course_file)
    with open_store(course) as store:
        rows = [_row(course, store, asked) for asked in Returns(store).asked()]
    write_data(output, csv_of([COLUMNS, *rows]))
    return 0


def ask(course_file: Path, wish: Wish) -> int:
    """Record a request about the attempt that counts; refuses a task or test that is not there."""
    course, lab = load_course(course_file), find_lab(wish.lab, find_root())
    check_said(wish.author, wish.reason)
    if len(wish.reason.strip()) not in REASON:
        raise UsageError(f"a reason has {REASON[0]} to {REASON[-1]} characters", "say more of it")
    with open_store(course) as store:
        student = known_student(store.students(), wish.student).id
        mark = read_gradebook(course, store, [lab.name]).marks[student, lab.name]
        if mark.attempt is None:
            raise UsageError(f"nothing of {student} in {lab.name} was graded", "grade it first")
        points = _task_points(mark.attempt, wish)
        what = (student, lab.name, mark.attempt.commit, wish.task, wish.test)
        said = (wish.reason.strip(), wish.author.strip(), datetime.now(UTC))
        number = Returns(store).ask(Request(*what, mark.attempt.points, points, *said))
    if number is None:
        raise UsageError(f"a request of {student} about {wish.task} is open already", LISTS)
    print(f"request {number} of {student} about {wish.task} in {lab.name}")
    return 0


def answer(course_file: Path, reply: Reply) -> int:
    """Answer a request with words, and with a correction or a regrade if there is one."""
    check_said(reply.author, reply.text)
    if reply.points and reply.run:
        raise UsageError("--points and --run at once", "choose one of them")
    course = load_course(course_file)
    points = points_typed(reply.points) if reply.points else None
    with open_store(course) as store:
        returns = Returns(store)
        asked = _known(returns.asked(), reply.number)
        request, now = asked.request, datetime.now(UTC)
        author, text = reply.author.strip(), reply.text.strip()
        marks = read_gradebook(course, store, [request.lab]).marks
        mark = marks.get((request.student, request.lab))  # none of who has left the roster
        run = _run(store, request, reply.run) if reply.run else None
        said = (author, text, now, run, mark.points if mark else None, points)
        word = None
        if points is not None:
            why = f"request {reply.number}: {text}"
            word = Override(request.student, request.lab, points, author, why, now)
        if not returns.end(Answer(reply.number, Ending.ANSWERED, *said), word):
            raise UsageError(f"request {reply.number} was {asked.state} already", LISTS)
        for line in _lines(course, store, _known(returns.asked(), reply.number)):
            print(visible_line(line, 3000))
    return 0


def _known(found: Sequence[Asked], number: int) -> Asked:
    for asked in found:
        if asked.request.number == number:
            return asked
    raise UsageError(f"there is no request {number}", LISTS)


def _run(store: Store, request: Request, run: str) -> str:
    """Return a regrade that the attempt is graded in; raises UsageError."""
    notes = {each.id: each.note for each in store.runs(request.lab)}
    if notes.get(run) != REGRADE:
        hint = "lab grade-all --on-trial starts one"
        raise UsageError(f"run {run} is no regrade of {request.lab} on trial", hint)
    found = store.attempts(request.lab, request.student, run)
    if request.commit not in {attempt.commit for attempt in found}:
        told = f"run {run} has no grading of that attempt of {request.student}"
        raise UsageError(told, f"lab grade-all --student {request.student} --on-trial REASON")
    return run


def _task_points(attempt: Attempt, wish: Wish) -> float:
    report = report_of(attempt.report)
    scores = {task.id: task.score for task in report.tasks}
    if wish.task not in scores:
        raise UsageError(f"there is no task {wish.task!r}", f"tasks: {', '.join(scores)}")
    tests = [test.id for test in report.tests if test.task == wish.task]
    if wish.test and wish.test not in tests:
        raise UsageError(f"{wish.task} has no test {wish.test!r}", f"tests: {', '.join(tests)}")
    return scores[wish.task]


def _outcome(store: Store, asked: Asked) -> Outcome:
    request, run = asked.request, asked.answer.run if asked.answer else None
    attempts = store.attempts(request.lab, request.student, run) if run else ()
    kinds = [word.kind for word in decisions(store, run)] if run else ()
    return outcome(asked, attempts, kinds, is_staff=True)


def _lines(course: Course, store: Store, asked: Asked) -> list[str]:
    request, ended = asked.request, asked.answer
    made = moment_text(request.made, course.zone)
    whose = f"{request.student}, {request.lab}, {request.commit[:20]}"
    lines = [f"{request.number}: {whose}: {request.what}: {asked.state}"]
    lines.append(f"  {request.author}, {made}: {request.reason}")
    if ended is None:
        return [*lines, f"  grade again: {_again(store, request)}"]
    if ended.kind is Ending.ANSWERED:
        lines.append(f"  {ended.author}, {moment_text(ended.made, course.zone)}: {ended.text}")
        found = _outcome(store, asked)
        lines += [f"  {what}: {old} -> {new}" for what, old, new in found.changes]
        lines += [f"  {found.note}"] if found.note else []
    return lines


def _again(store: Store, request: Request) -> str:
    """Return the command that grades the attempt again by the seed that it had."""
    found = [
        attempt
        for attempt in store.attempts(request.lab, request.student)
        if attempt.commit == request.commit and not attempt.infra
    ]
    seed = dict(report_of(found[-1].report).provenance).get("seed") if found else None
    by = f" --seed {seed}" if isinstance(seed, int) else ""
    line = f"lab grade-all {int(request.lab[:2])} --student {request.student}{by}"
    return f'{line} --on-trial "request {request.number}" --author NAME'


def _row(course: Course, store: Store, asked: Asked) -> Sequence[object]:
    request, ended, found = asked.request, asked.answer, _outcome(store, asked)
    made = moment_text(request.made, course.zone)
    answered = moment_text(ended.made, course.zone) if ended else ""
    changes = "; ".join(f"{what}: {old} -> {new}" for what, old, new in found.changes)
    return (
        *(request.number, request.student, request.lab, request.commit, request.task),
        *(request.test, request.reason, request.author, made, asked.state),
        *((ended.text, ended.author, answered) if ended else ("", "", "")),
        *(changes, found.note),
    )
