"""A class on the web: a course with two labs of the demo, its people, and the application.

What is graded here is a report that a test writes: judging has tests of its own.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.testclient import TestClient

from grader.course.config import Course
from grader.course.database.records import Attempt, Student
from grader.course.database.store import Store
from grader.course.likeness.answers import folders_of
from grader.course.likeness.notes import Kept, kept
from grader.course.likeness.similarity import compare_class
from grader.course.policy import ServicePolicy
from grader.course.rules.late import LateRule
from grader.course.rules.teams import Teams
from grader.labs.lab import Lab, all_labs
from grader.labs.results import Report
from grader.languages.language import Language
from grader.service.adapters.database.database import DatabaseStore
from grader.service.adapters.web.app import make_app
from grader.service.adapters.web.gate.rates import Limits
from grader.service.adapters.web.shared.site import Push, Site
from grader.service.core.desk import Desk
from grader.service.domain.records import HandIn, Origin, Role, Who

DEMO = Path(__file__).parents[1] / "demo"
NOW = datetime(2026, 10, 1, 12, tzinfo=UTC)
LAB, OTHER = "90_echo", "91_softmax"
SECRET = "a secret of sixteen or more"
# Names as a roster may have them: what each tries is to be more than a text.
STUDENTS = (
    Student("s17", "Student Seventeen", "", ""),
    Student("s18", "<script>alert(1)</script>{{ 7 * 7 }}", "", ""),
    Student("a/b?c#d", "\u202egnp.exe\x1b[2J\r\nX: 1", "", ""),
)
NO_TEAMS: Teams = {}
CODE = b"def echo(x):\n    return x\n"


class SetClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.moment = NOW

    def now(self) -> datetime:
        """Return the moment that was set."""
        return self.moment

    def go(self, **time: float) -> None:
        """Let time pass."""
        self.moment += timedelta(**time)


class WebClass:
    """The application, and what a test needs to act beside it."""

    def __init__(
        self, course: Course, books: Store, limits: Limits | None, more: Sequence[Lab] = ()
    ) -> None:
        self.folder = course.folder
        self.clock = SetClock()
        self.pushes: list[Push] = []
        self.course = course
        self.labs: tuple[Lab, ...] = (*all_labs(DEMO), *more)
        self.books = books
        self.store = DatabaseStore(books)
        self.app: FastAPI = make_app(
            Desk(self.course, self.labs, self.store, self.clock),
            self.store,
            books,
            self.clock,
            limits=limits,
            collect=self.pushes.append,
        )
        self.site: Site = self.app.state.site

    def token(self, owner: str, role: Role = Role.STUDENT) -> str:
        """Give somebody a token."""
        return self.site.door.issue(owner, role)

    def client(self, **rest: Any) -> TestClient:
        """Return a browser that nobody has signed in with."""
        base = self.course.service.address or "http://testserver"
        return TestClient(self.app, base_url=base, follow_redirects=False, **rest)

    def browser(self, owner: str, role: Role = Role.STUDENT) -> "Browser":
        """Return a browser that somebody signed in with, by the form."""
        client = self.client()
        csrf = csrf_of(client.get("/login").text)
        answer = client.post("/login", data={"token": self.token(owner, role), "csrf": csrf})
        assert answer.status_code == 303, answer.text
        return Browser(client)

    def bearer(self, owner: str, role: Role = Role.STUDENT) -> TestClient:
        """Return a client of the API."""
        client = self.client()
        client.headers["authorization"] = f"Bearer {self.token(owner, role)}"
        return client

    def hand_in(self, student: str, lab: str = LAB, code: bytes = CODE) -> HandIn:
        """Hand in as a student does."""
        desk: Desk = self.site.desk
        chosen = desk.lab(lab)
        files = {chosen.code_name: code, "PSEUDOCODE.md": b"# Pseudocode\n"}
        return desk.take(Who(student, Role.STUDENT), chosen, files, Origin.TERMINAL)

    def grade(self, item: HandIn, report: Report, suite: str = "all") -> HandIn:
        """Let a worker record a report for what waits."""
        now = self.clock.now()
        claimed = self.store.claim("worker", "cpu", now, timedelta(hours=1))
        assert claimed is not None
        assert claimed.number == item.number
        self.store.tell(item.number, "begun", {}, now)
        data = replace(report, lab=int(item.lab[:2])).to_json()
        attempt = Attempt(
            *(item.student, item.lab, "", item.key, item.received, now, 2.0),
            *(report.score, report.graded, report.exit_code, data, suite),
        )
        assert self.store.finish(item.number, "worker", attempt, now)
        self.store.tell(item.number, "graded", {"points": report.score}, now)
        graded = self.store.hand_in(item.number)
        assert graded is not None
        return graded

    def compare(self) -> Kept:
        """Compare what was handed in, as the command does."""
        lab = next(lab for lab in self.labs if lab.name == LAB)
        found = compare_class(
            lab, self.books.frozen(LAB), self.folder, corpus=folders_of(self.course)
        )
        whole = kept(LAB, found, 0.6, self.clock.now(), str(self.folder))
        self.books.put_likenesses(LAB, found.found)
        self.store.alike.put(whole)
        return whole

    def regrade(self, student: str, report: Report, lab: str = LAB) -> str:
        """Ask for a regrade of a student and let a worker record a report of each work."""
        who = Who("tutor", Role.ASSISTANT)
        chosen = self.site.desk.lab(lab)
        run = self.site.regrades.ask(who, chosen, "cpu", "a test was wrong", student)
        while self.regrade_next(report):
            pass
        return run

    def regrade_next(self, report: Report) -> bool:
        """Let a worker record a report for what is graded once more; False if nothing is."""
        now = self.clock.now()
        item = self.store.regradings.claim("worker", "cpu", now, timedelta(hours=1))
        if item is None:
            return False
        data = replace(report, lab=int(item.lab[:2])).to_json()
        attempt = Attempt(
            *(item.student, item.lab, "", item.commit, item.received, now, 2.0),
            *(report.score, report.graded, report.exit_code, data),
        )
        return self.store.regradings.finish(item.number, "worker", attempt, now)


class Browser:
    """A browser that somebody signed in with."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def get(self, path: str, **rest: Any) -> Any:
        """Ask for a page."""
        return self.client.get(path, **rest)

    def post(self, path: str, page: str, data: dict[str, Any] | None = None, **rest: Any) -> Any:
        """Send a form with the word that a page's forms carry."""
        csrf = csrf_of(self.client.get(page).text)
        return self.client.post(path, data={"csrf": csrf, **(data or {})}, **rest)


def csrf_of(html: str) -> str:
    """Return the word that the forms of a page carry."""
    found = re.search(r'name="csrf" value="([^"]+)"', html)
    assert found is not None, html
    return found[1]


def filled_database(folder: Path) -> Path:
    """Make a course database with the roster; it is copied for each test."""
    path = folder / "course.db"
    with Store.open(f"sqlite:///{path}") as store:
        store.put_students(STUDENTS)
    return path


@contextmanager
def web_class(
    folder: Path,
    database: Path,
    limits: Limits | None = None,
    deadline: datetime | None = None,
    zone: tzinfo = UTC,
    teams: Teams = NO_TEAMS,
    late_days: int = 0,
    more: Sequence[Lab] = (),
    closed: Sequence[Lab] = (),
    language: Language = Language.ENGLISH,
    hide_answers: bool = False,
    **policy: Any,
) -> Iterator[WebClass]:
    """Open a class in a folder of its own; ``deadline`` is that of its first lab.

    ``more`` are labs beside those of the demo, and so are those ``closed``, two days ago.
    """
    deadlines = {90: deadline} if deadline else {}
    deadlines |= {lab.number: NOW - timedelta(days=2) for lab in closed}
    roster, service = folder / "roster.csv", ServicePolicy(**policy)
    rest: dict[str, Any] = {"deadlines": deadlines, "service": service, "teams": teams}
    rest |= {"language": language, "hide_answers": hide_answers}
    rest["late"] = LateRule(per_day=0.1, days=late_days) if late_days else LateRule()
    course = Course(folder, "Demo course", roster, zone, **rest)
    shutil.copy(database, folder / "course.db")
    with Store.open(f"sqlite:///{folder}/course.db") as books:
        yield WebClass(course, books, limits, (*more, *closed))
