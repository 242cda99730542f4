"""Requests: a student asks for one task or test to be looked at again, and staff answer once.

What may be asked for is what the student's own report names. An answer can let the attempt be
graded again, in a regrade that counts once it is published, or correct the mark by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from grader.course.analysis.requests import Outcome, outcome
from grader.course.database.giving.records import REASON, Answer, Asked, Ending, Request
from grader.course.database.records import Attempt, Override
from grader.course.days import days_after
from grader.errors import UsageError
from grader.labs.results import Report, Verdict
from grader.service.core.desk import Desk
from grader.service.core.regrades import Regrades
from grader.service.core.views import Views
from grader.service.domain.records import HandIn, Role, Who
from grader.service.domain.refusals import NotFound
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store
from grader.text import moment_text, visible_line

MOST_ANSWER = 4000


class Again(StrEnum):
    """Whether an answer lets the attempt be graded again, and by which seed."""

    NO = ""
    SAME = "same"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Reply:
    """How staff answer: with words, and with a grading or a correction if they like."""

    text: str
    again: Again = Again.NO
    points: float | None = None  # that the mark is set to
    before: float | None = None  # the mark as it is


class Requests:
    """Takes requests and answers; who may not know of one is told that there is none."""

    def __init__(
        self, desk: Desk, store: Store, clock: Clock, views: Views, regrades: Regrades
    ) -> None:
        self._desk = desk
        self._store = store
        self._clock = clock
        self._views = views
        self._regrades = regrades

    def until(self, item: HandIn, graded: Attempt) -> datetime | None:
        """Return until when one may ask about a grading; None: the course takes no requests."""
        course = self._desk.terms()
        if not course.service.requests_days:
            return None
        deadline = course.deadline(item.student, self._desk.lab(item.lab).number)
        since = max(self._views.judged(graded), deadline or graded.graded)
        return days_after(since, course.service.requests_days, course.zone)

    def may_ask(self, who: Who, item: HandIn) -> bool:
        """Whether somebody may ask about a hand-in now."""
        graded = self._views.attempt(who, item)
        if graded is not None and self._views.points(graded) is None:
            return False  # it waits for a reader
        until = self.until(item, graded) if graded else None
        return who.role is Role.STUDENT and until is not None and self._clock.now() <= until

    def ask(self, who: Who, item: HandIn, choice: str, reason: str) -> int:
        """Record a request and return its number; ``choice`` is a key of ``choices``.

        Raises UsageError where it cannot be asked.
        """
        if who.role is not Role.STUDENT:
            raise NotFound("only students ask for a regrade")
        graded = self._views.attempt(who, item)
        if graded is None:
            raise UsageError("there is no verdict to ask about", "ask once it is graded")
        if self._views.points(graded) is None:
            raise UsageError("nobody has read this attempt yet", "ask once it is read")
        until, now = self.until(item, graded), self._clock.now()
        if until is None:
            raise UsageError("this course takes no requests here", "ask your instructor")
        if now > until:
            shown = moment_text(until, self._desk.course.zone)
            told = f"requests about this attempt were taken until {shown}"
            raise UsageError(told, "ask your instructor")
        report = self._views.report(who, graded)
        if choice not in choices(report):
            raise UsageError("choose what is to be looked at again", "a task or a test of the list")
        task, test = choices(report)[choice]
        why = reason.replace("\r\n", "\n").strip()
        if len(why) not in REASON:
            told = f"a reason has {REASON[0]} to {REASON[-1]} characters, this one {len(why)}"
            raise UsageError(told, "say what you think is wrong, and where one sees it")
        points = next(each.score for each in report.tasks if each.id == task)
        what = (item.student, item.lab, item.key, task, test, graded.points, points)
        number = self._store.returns.ask(Request(*what, why, who.name, now))
        if number is None:
            told = f"a request about {task} in this attempt is open already"
            raise UsageError(told, "wait for its answer, or withdraw it first")
        return number

    def withdraw(self, who: Who, number: int) -> Request:
        """End a student's own request; raises UsageError if it has ended."""
        request = self.find(who, number).request
        if who.role is not Role.STUDENT:
            raise NotFound("only students withdraw what they asked for")
        self._end(Answer(number, Ending.WITHDRAWN, who.name, "", self._clock.now()))
        return request

    def answer(self, who: Who, number: int, reply: Reply, device: str) -> Request:
        """Answer a request; raises UsageError if it has ended, or what is asked cannot be done."""
        if not who.is_staff or (reply.points is not None and who.role is not Role.INSTRUCTOR):
            raise NotFound("there is no such request")
        asked = self.find(who, number)
        text = reply.text.replace("\r\n", "\n").strip()
        if not 0 < len(text) <= MOST_ANSWER:
            told = f"an answer has words, at most {MOST_ANSWER} characters"
            raise UsageError(told, "the student reads it")
        if reply.again and reply.points is not None:
            raise UsageError("graded again and corrected at once", "choose one of them")
        if asked.answer is not None:
            raise _ended(asked.answer.kind)
        request, now = asked.request, self._clock.now()
        run = self._again(who, request, reply.again, device, text) if reply.again else None
        said = (Ending.ANSWERED, who.name, text, now, run, reply.before, reply.points)
        word = None
        if reply.points is not None:
            why = f"request {number}: {text}"
            word = Override(request.student, request.lab, reply.points, who.name, why, now)
        self._end(Answer(number, *said), word)
        return request

    def find(self, who: Who, number: int) -> Asked:
        """Return a request that somebody may know of; raises NotFound."""
        for asked in self._store.returns.asked(None if who.is_staff else who.name):
            if asked.request.number == number:
                return asked
        raise NotFound("there is no such request")

    def of_attempt(self, item: HandIn) -> list[Asked]:
        """List what was asked about a hand-in, oldest first."""
        found = self._store.returns.asked(item.student)
        return [
            each
            for each in found
            if (each.request.lab, each.request.commit) == (item.lab, item.key)
        ]

    def is_held(self, who: Who, asked: Asked) -> bool:
        """Whether what came of a request is held back from who looks at it."""
        return self._views.held(who, asked.request.student, asked.request.lab)

    def outcome(self, who: Who, asked: Asked) -> Outcome:
        """Tell what came of a request; nothing while its lab is held back from the student."""
        request, run = asked.request, asked.answer.run if asked.answer else None
        if self.is_held(who, asked):
            return Outcome()
        attempts = self._store.attempts(request.lab, request.student, run) if run else ()
        kinds = [word.kind for word in self._store.regradings.decisions(run)] if run else ()
        return outcome(asked, attempts, kinds, is_staff=who.is_staff)

    def _again(self, who: Who, request: Request, again: Again, device: str, text: str) -> str:
        lab = self._desk.lab(request.lab)
        seed = None
        if again is Again.SAME:
            gradings = self._views.gradings(who, request.student, request.lab)
            seed = _seed(gradings.get(request.commit))
        reason = visible_line(f"request {request.number}: {text}", 1000)
        return self._regrades.ask(who, lab, device, reason, request.student, request.commit, seed)

    def _end(self, answer: Answer, override: Override | None = None) -> None:
        if not self._store.returns.end(answer, override):
            raise _ended("ended")


def choices(report: Report) -> dict[str, tuple[str, str]]:
    """Return the tasks of a report and its tests that did not pass: task and test, by a key."""
    found = {task.id: (task.id, "") for task in report.tasks if task.graded}
    tests = [test for test in report.tests if test.verdict is not Verdict.PASSED]
    known = {task.id for task in report.tasks if task.graded}
    return found | {f"{t.task}: {t.id}": (t.task, t.id) for t in tests if t.task in known}


def _seed(graded: Attempt | None) -> int:
    """Return the seed of a grading; raises UsageError if it is not known."""
    provenance = graded.report.get("provenance") if graded else None
    seed = provenance.get("seed") if isinstance(provenance, Mapping) else None
    if not isinstance(seed, int):
        raise UsageError("the seed of that grading is not known", "grade it by another one")
    return seed


def _ended(kind: str) -> UsageError:
    return UsageError(f"this request was {kind} already", "nothing was changed")
