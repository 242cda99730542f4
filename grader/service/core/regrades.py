"""Regrades: asked for by staff, graded like everything else, and looked at before they count.

What a regrade covers is all work of the lab that has a grading, so that the course's rule picks
among gradings of one kind. Nothing of it is seen by students until it is published.
"""

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.course.analysis.changes import Change, compare, graded
from grader.course.config import Course
from grader.course.database.records import Attempt, Correction, Decision, Kind, Override, Run
from grader.course.gradebook.marks import Mark, mark
from grader.errors import UsageError
from grader.labs.lab import Lab
from grader.service.domain.records import Regrading, State, Who
from grader.service.domain.refusals import NotFound
from grader.service.ports.clock import Clock
from grader.service.ports.store import Store


@dataclass(frozen=True, slots=True)
class Shift:
    """A student whose mark a regrade changes, or of whom only verdicts differ."""

    student: str
    before: Mark
    after: Mark
    changes: Sequence[Change]

    @property
    def gain(self) -> float:
        """By how many points the mark rises."""
        return round((self.after.points or 0.0) - (self.before.points or 0.0), 4)


@dataclass(frozen=True, slots=True)
class Regrade:
    """A run that somebody asked for: what was said of it, and how far it is."""

    run: Run
    asked: Decision
    ended: Decision | None  # published or discarded
    counts: Mapping[State, int]

    def count(self, *states: State) -> int:
        """Return how much of the work is in one of these states."""
        return sum(self.counts.get(state, 0) for state in states)

    @property
    def total(self) -> int:
        """How much work there is."""
        return sum(self.counts.values())

    @property
    def is_running(self) -> bool:
        """Whether something of it will still be graded."""
        return self.count(State.WAITING, State.RUNNING) > 0


class Regrades:
    """Starts regrades, tells what they would change, and ends them."""

    def __init__(self, course: Course, store: Store, clock: Clock) -> None:
        self._course = course
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        # A class's reports take seconds to read, and what a run changes is looked at again.
        self._known: dict[str, tuple[Hashable, list[Shift]]] = {}

    def ask(
        self,
        who: Who,
        lab: Lab,
        device: str,
        reason: str,
        student: str = "",
        commit: str = "",
        seed: int | None = None,
    ) -> str:
        """Queue a regrade of a lab, of one student, of one work of theirs, or of all.

        Returns its run. ``seed`` None: any.

        Raises UsageError if nothing was graded, or an earlier one is not decided yet.
        """
        if lab.is_manual:
            told = f"people grade {lab.name}: there is nothing to grade again"
            raise UsageError(told, "give other points on the page of the work")
        for regrade in self.of_lab(lab.name):
            if regrade.ended is None:
                told = f"run {regrade.run.id} of {lab.name} is not decided yet"
                raise UsageError(told, f"publish or discard it first: /runs/{regrade.run.id}")
        known = [each.id for each in self._store.students()]
        if student and student not in known:
            raise NotFound("there is no such student")
        places = {id: place for place, id in enumerate(known)}
        found = graded(self._store.attempts(lab.name, student or None))
        keys = [key for key in found if key[0] in places and commit in ("", key[1])]
        work = sorted(keys, key=lambda key: places[key[0]])
        if not work:
            raise UsageError(f"nothing of {lab.name} was graded yet", "there is nothing to regrade")
        asked = Decision("", Kind.ASKED, who.name, reason, self._clock.now())
        only = [student] if student else []
        return self._store.regradings.ask(lab.name, work, device, asked, only, seed)

    def of_lab(self, lab: str | None = None) -> list[Regrade]:
        """List the regrades of a lab, or of all, oldest first."""
        runs = self._store.regradings.runs(lab)
        return [found for run in runs if (found := self._read(run)) is not None]

    def of_run(self, run: str) -> Regrade:
        """Return a regrade; raises NotFound."""
        for each in self._store.regradings.runs():
            if each.id == run and (found := self._read(each)) is not None:
                return found
        raise NotFound("there is no such regrade")

    def held(self, regrade: Regrade) -> list[Regrading]:
        """List what could not be graded, by our fault."""
        if not regrade.count(State.HELD):
            return []
        items = self._store.regradings.of_run(regrade.run.id)
        return [item for item in items if item.state is State.HELD]

    def shifts(self, regrade: Regrade, overrides: Sequence[Override]) -> list[Shift]:
        """Tell what counting it changes, student by student: of whom a mark or verdicts differ.

        What was graded after it was decided is left aside.
        """
        lab, run, until = regrade.run.lab, regrade.run.id, regrade.ended and regrade.ended.made
        counting = [
            attempt
            for attempt in self._store.attempts(lab)
            if attempt.run != run and (until is None or attempt.graded <= until)
        ]
        own = self._store.attempts(lab, run=run)
        words = self._store.reading.corrections()
        content = tuple(map(_name, [*counting, *own])), tuple(overrides), tuple(words)
        with self._lock:
            known = self._known.get(run)
            if known is None or known[0] != content:
                found = self._shifts(lab, counting, own, overrides, words)
                known = self._known[run] = (content, found)
            return known[1]

    def decide(self, who: Who, regrade: Regrade, kind: Kind, reason: str) -> None:
        """Publish or discard a regrade; raises UsageError if it cannot be now."""
        decision = Decision(regrade.run.id, kind, who.name, reason, self._clock.now())
        if not self._store.regradings.decide(decision):
            now = self.of_run(regrade.run.id)
            told = f"it was {now.ended.kind} already" if now.ended else "it is still being graded"
            hint = "" if now.ended else "publish it when all has ended, or discard it"
            raise UsageError(f"run {regrade.run.id} cannot be {kind}: {told}", hint)

    def again(self, regrade: Regrade) -> None:
        """Grade once more what could not be graded, by our fault; raises UsageError if nothing."""
        if not self._store.regradings.requeue(regrade.run.id):
            raise UsageError(f"nothing of run {regrade.run.id} is held, or it is decided")

    def _read(self, run: Run) -> Regrade | None:
        said = {word.kind: word for word in self._store.regradings.decisions(run.id)}
        if Kind.ASKED not in said:
            return None
        ended = said.get(Kind.PUBLISHED) or said.get(Kind.DISCARDED)
        return Regrade(run, said[Kind.ASKED], ended, self._store.regradings.counts(run.id))

    def _shifts(
        self,
        lab: str,
        counting: Sequence[Attempt],
        own: Sequence[Attempt],
        overrides: Sequence[Override],
        corrections: Sequence[Correction],
    ) -> list[Shift]:
        new = _by_student(own, lambda each: not each.infra)
        old = _by_student(counting, lambda each: each.student in new)
        found = (
            self._shift(student, lab, old.get(student, []), again, overrides, corrections)
            for student, again in new.items()
        )
        return [shift for shift in found if shift.gain or shift.changes]

    def _shift(
        self,
        student: str,
        lab: str,
        old: Sequence[Attempt],
        new: Sequence[Attempt],
        overrides: Sequence[Override],
        corrections: Sequence[Correction],
    ) -> Shift:
        before = mark(old, overrides, self._course, student, lab, 0, corrections)
        after = mark([*old, *new], overrides, self._course, student, lab, 0, corrections)
        gradings = graded(new)
        return Shift(student, before, after, compare(graded(old), gradings, gradings))


def _name(attempt: Attempt) -> Hashable:
    """What no two attempts share: they are never changed."""
    return attempt.run, attempt.student, attempt.commit, attempt.graded


def _by_student(
    attempts: Iterable[Attempt], which: Callable[[Attempt], bool]
) -> dict[str, list[Attempt]]:
    found: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if which(attempt):
            found.setdefault(attempt.student, []).append(attempt)
    return found
