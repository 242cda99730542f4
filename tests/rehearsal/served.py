"""The same class hands in through the grading service: each mark must be what grade-all gave."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from answers import Answer, Kind
from school import Failed, School
from stand_ins.serving import Server, issue_tokens

from grader.client.logins import Login
from grader.client.service import Service
from grader.course.config import load_course
from grader.course.database.store import Store
from grader.course.gradebook.marks import Mark, mark
from grader.errors import UsageError
from grader.service.adapters.database.database import DatabaseStore
from grader.service.domain.records import State

LATE = (Kind.LATE, Kind.LATE_SOLUTION)  # notes are no file that the service takes


def hand_in_at_service(school: School, answers: Sequence[Answer], jobs: int) -> None:
    """Serve the course, hand everything in by HTTP, some of it late, and wait for the verdicts."""
    course = school.folder / "course.toml"
    tokens = issue_tokens(course)
    server = Server(course, options=("--jobs", str(jobs)))
    school.due(datetime.now(UTC) + timedelta(days=1))
    with server.running():
        for answer in answers:
            _hand_in(server.url, tokens, answer, answer.files)
        _until_graded(school)
    school.due(datetime.now(UTC) - timedelta(seconds=1))
    with server.running():
        for answer in answers:
            if answer.kind in LATE:
                _hand_in(server.url, tokens, answer, answer.late_files)
        _until_graded(school)


def different_marks(school: School, served: School, answers: Sequence[Answer]) -> list[str]:
    """Say which marks the service gave otherwise than grade-all, and for what source."""
    usual, found = _marks(school, answers), _marks(served, answers)
    sources = {(answer.student, answer.lab.name): answer.source for answer in answers}
    return [
        f"{student} in {lab} ({source}): {_told(found[student, lab])} by the service,"
        f" {_told(usual[student, lab])} by grade-all"
        for (student, lab), source in sources.items()
        if _told(found[student, lab]) != _told(usual[student, lab])
    ]


def _told(found: Mark) -> str:
    points = "none" if found.points is None else f"{found.points:g}"
    return f"{points}, {found.late_days} days late"


def _marks(school: School, answers: Sequence[Answer]) -> dict[tuple[str, str], Mark]:
    course = load_course(school.folder / "course.toml")
    with Store.open(school.database) as store:
        attempts = store.attempts()
    names = [(answer.student, answer.lab.name) for answer in answers]
    return {(who, lab): mark(attempts, [], course, who, lab) for who, lab in names}


def _hand_in(
    url: str, tokens: Mapping[str, str], answer: Answer, files: Mapping[str, bytes]
) -> None:
    """Hand files in; a stub as it was given out may be refused, and nothing is nothing."""
    named = {Path(name).name: content for name, content in files.items()}
    if not named:
        return
    is_stub = named[answer.lab.code_name] == answer.lab.stub.read_bytes()
    with Service(Login(url, tokens[answer.student])) as service:
        try:
            service.hand_in(answer.lab.number, named, "terminal")
        except UsageError as error:
            if not is_stub or "given out" not in error.message:
                raise


def _until_graded(school: School) -> None:
    while True:
        with Store.open(school.database) as database:
            items = DatabaseStore(database).hand_ins()
        if held := [item for item in items if item.state is State.HELD]:
            raise Failed(f"held: {', '.join(f'{item.number}: {item.failure}' for item in held)}")
        if not any(item.is_open for item in items):
            return
        time.sleep(2.0)
