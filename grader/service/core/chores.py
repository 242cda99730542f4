"""What the service does by itself: hidden tests after a deadline, what is alike, what is forgotten.

Each turn looks at the store anew and does what is not done yet, so that it matters neither when a
process dies nor how many do this at once.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from grader.course.database.records import Attempt
from grader.course.gradebook.marks import PUBLIC
from grader.course.policy import Hidden
from grader.labs.lab import Lab
from grader.service.core.desk import Desk
from grader.service.domain.records import HandIn, State
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store

TURN_SECONDS = 30.0
FORGET_EVERY = timedelta(hours=1)
COMPARE_EVERY = timedelta(minutes=10)
KEPT = timedelta(days=30)  # steps of gradings that have ended, and marks of deliveries by hooks


class Chores:
    """Does them, turn by turn. ``compare`` finds answers of a lab that are alike, and keeps them.

    The turns of one object are one after the other.
    """

    def __init__(
        self, desk: Desk, store: Store, clock: Clock, compare: Callable[[Lab], None]
    ) -> None:
        self._desk = desk
        self._store = store
        self._clock = clock
        self._compare = compare
        self._forgot = self._compared_at = datetime.min.replace(tzinfo=UTC)
        self._compared: dict[str, set[tuple[str, str]]] = {}  # what each comparison was of, by lab
        self._settled: set[int] = set()  # hand-ins of which the hidden tests need no grading

    def turn(self) -> None:
        """Do what is due."""
        now = self._clock.now()
        if self._desk.course.service.hidden is Hidden.AFTER_DEADLINE:
            for lab in self._desk.labs.values():
                self._judge_hidden(lab, now)
        if now - self._forgot >= FORGET_EVERY:
            self._store.forget(now - KEPT)
            self._forgot = now
        if now - self._compared_at >= COMPARE_EVERY:
            self._compared_at = now
            for lab in self._desk.labs.values():
                self._find_alike(lab)

    def _judge_hidden(self, lab: Lab, now: datetime) -> None:
        """Queue each student's last hand-in before their deadline for the hidden tests, once."""
        terms = self._desk.terms()
        due = {
            each.id: deadline
            for each in self._store.students()
            if (deadline := terms.deadline(each.id, lab.number)) and deadline < now
        }
        if not due:
            return
        last: dict[str, HandIn] = {}
        for item in self._store.hand_ins(lab=lab.name):
            is_due = item.student in due and item.received <= due[item.student]
            if is_due and (item.is_open or item.state is State.GRADED):
                last[item.student] = item
        queued = self._store.regradings.judged_hidden(lab.name)
        for item in last.values():
            if item.is_open or item.number in self._settled or (item.student, item.key) in queued:
                continue
            if self._needs_hidden(item):
                asked = (lab.name, item.student, item.key, item.device, now)
                self._store.regradings.judge_hidden(*asked)
            self._settled.add(item.number)

    def _find_alike(self, lab: Lab) -> None:
        """Compare the class's newest answers, unless these were compared already."""
        if lab.code_name not in lab.handed_in:
            return  # people read no code of it
        newest = {item.student: item.sha256 for item in self._store.hand_ins(lab=lab.name)}
        answers = {*newest.items()}
        if len(answers) > 1 and answers != self._compared.get(lab.name):
            self._compare(lab)
            self._compared[lab.name] = answers

    def _needs_hidden(self, item: HandIn) -> bool:
        own = [a for a in self._store.attempts(item.lab, item.student) if _is_of(a, item)]
        return bool(own) and all(attempt.suite == PUBLIC for attempt in own)


def _is_of(attempt: Attempt, item: HandIn) -> bool:
    return attempt.commit == item.key and not attempt.infra
