"""What is graded once more, in the store without a disk."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from grader.course.database.records import AFTER_DEADLINE, REGRADE, Attempt, Decision, Kind, Run
from grader.service.adapters.memory_line import MemoryLine
from grader.service.domain.records import HandIn, Regrading, State
from grader.service.domain.turns import tried


class MemoryRegradings(MemoryLine[Regrading]):
    """Implements ``ports.store.Regradings``, under the lock of the store that it is part of.

    ``look`` finds what was handed in by student and commit, ``busy`` tells of whom a hand-in runs.
    """

    def __init__(
        self,
        lock: threading.RLock,
        look: Callable[[str, str], HandIn | None],
        busy: Callable[[], set[str]],
        keep: Callable[[Attempt], None],
    ) -> None:
        super().__init__(lock)
        self._look = look
        self._busy = busy
        self._keep = keep
        self._runs: list[Run] = []
        self._decisions: list[Decision] = []

    def ask(
        self,
        lab: str,
        work: Sequence[tuple[str, str]],
        device: str,
        asked: Decision,
        students: Sequence[str] = (),
        seed: int | None = None,
    ) -> str:
        """Queue work in a new run, of which the attempts count once it is published."""
        with self._lock:
            run = self._start(lab, asked.made, REGRADE, students)
            self._decisions.append(replace(asked, run=run, kind=Kind.ASKED))
            for student, commit in work:
                self._queue(run, lab, student, commit, device, seed)
            return run

    def judge_hidden(self, lab: str, student: str, commit: str, device: str, now: datetime) -> bool:
        """Queue work for the hidden tests after a deadline; False if it was, once."""
        with self._lock:
            runs = [run.id for run in self._runs if (run.lab, run.note) == (lab, AFTER_DEADLINE)]
            run = runs[0] if runs else self._start(lab, now, AFTER_DEADLINE, ())
            if (student, commit) in self.judged_hidden(lab):
                return False
            self._queue(run, lab, student, commit, device)
            return True

    def judged_hidden(self, lab: str) -> set[tuple[str, str]]:
        """Return the students and commits that were queued for hidden tests after a deadline."""
        with self._lock:
            runs = {run.id for run in self._runs if (run.lab, run.note) == (lab, AFTER_DEADLINE)}
            return {(i.student, i.commit) for i in self._items.values() if i.run in runs}

    def of_run(self, run: str) -> list[Regrading]:
        """List what a run grades, by number."""
        with self._lock:
            return [item for item in self._items.values() if item.run == run]

    def counts(self, run: str | None = None) -> dict[State, int]:
        """Return how many there are in each state, of a run or of all."""
        with self._lock:
            return Counter(item.state for item in self._items.values() if run in (None, item.run))

    def runs(self, lab: str | None = None) -> list[Run]:
        """List the regrades of a lab, or of all, oldest first."""
        with self._lock:
            return [run for run in self._runs if run.note == REGRADE and lab in (None, run.lab)]

    def decisions(self, run: str | None = None) -> list[Decision]:
        """List what was said of a regrade, or of all, oldest first."""
        with self._lock:
            return [each for each in self._decisions if run in (None, each.run)]

    def decide(self, decision: Decision) -> bool:
        """End a regrade; what still waits of one that is discarded is not graded."""
        with self._lock:
            if [each.kind for each in self.decisions(decision.run)] != [Kind.ASKED]:
                return False
            own = self.of_run(decision.run)
            if decision.kind is Kind.PUBLISHED and any(item.is_open for item in own):
                return False
            self._decisions.append(decision)
            for item in own:
                if item.state is State.WAITING:
                    self._put(replace(item, state=State.SUPERSEDED, ended=decision.made))
            return True

    def claim(self, worker: str, device: str, now: datetime, lately: timedelta) -> Regrading | None:
        """Give a worker what comes next; nothing of a student of whom something runs."""
        with self._lock:
            busy = self._busy() | {item.student for item in self._in(State.RUNNING)}
            for item in self._in(State.WAITING):
                if item.device == device and item.student not in busy:
                    return self._begin(item, worker, now)
            return None

    def requeue(self, run: str) -> int:
        """Let what is held of an undecided run wait again; return how many."""
        with self._lock:
            if any(each.kind is not Kind.ASKED for each in self.decisions(run)):
                return 0
            held = [item for item in self.of_run(run) if item.state is State.HELD]
            for item in held:
                self._put(replace(item, state=State.WAITING, tries=0, ended=None))
            return len(held)

    def _start(self, lab: str, now: datetime, note: str, students: Sequence[str]) -> str:
        run = Run(str(len(self._runs) + 1), lab, now, note, tuple(students))
        self._runs.append(run)
        return run.id

    def _queue(
        self,
        run: str,
        lab: str,
        student: str,
        commit: str,
        device: str,
        seed: int | None = None,
    ) -> None:
        found = self._look(student, commit)
        path, received = (found.path, found.received) if found else ("", None)
        number = len(self._items) + 1
        own = (number, run, student, lab, commit)
        self._put(Regrading(*own, path, received, device, State.WAITING, seed=seed))

    def _record(self, item: Regrading, attempt: Attempt) -> None:
        self._keep(replace(attempt, run=item.run))

    def _failed(self, item: Regrading, why: str, now: datetime, most: int) -> Regrading:
        found = tried(item, why, now, most)
        kinds = {each.kind for each in self.decisions(item.run)}
        if found.state is State.WAITING and Kind.DISCARDED in kinds:
            found = replace(found, state=State.SUPERSEDED, ended=now)
        return self._put(found)
