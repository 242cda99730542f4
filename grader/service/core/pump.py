"""The gradings: takes what is next from the queue to an engine, and its verdict to the gradebook.

One pump has one engine and serves one device. Whatever happens to it, the queue is right: what it
had claimed is taken back by any other pump once it was silent for long enough, and a verdict is
recorded once, by whoever holds the claim.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from queue import Empty, SimpleQueue

from grader.course.grading.batch import files_of
from grader.course.grading.engines import Engine
from grader.course.grading.jobs import Done, Job, Step, attempt_of, lab_version
from grader.course.grading.unread import unread_attempt
from grader.errors import StoreError
from grader.labs.lab import Lab
from grader.service.core.desk import Desk
from grader.service.domain.records import HandIn, Regrading, State
from grader.service.domain.turns import LATELY
from grader.service.ports.clock import Clock
from grader.service.ports.store import Gone, Line, Store, nobody

POLL_SECONDS = 0.5
BEAT_SECONDS = 10.0
SILENCE = timedelta(seconds=60)  # after which a claim counts as abandoned
SWEEP_SECONDS = 15.0
MOST_TRIES = 3  # gradings of a hand-in, if each fails by our fault
MOST_ABANDONED = 10  # if each ends with its pump: a kill says less of the hand-in than a failure
IN_A_ROW = 3  # failures of ours after which each claim waits
LONGEST_PAUSE = 300.0  # seconds
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Way:
    """How a pump grades: where, in which sandbox, by which name others know it."""

    worker: str  # unique among all pumps that were ever started
    device: str = "cpu"
    sandbox: str = "required"
    engine: str = "local"
    beside: int = 1  # gradings on a GPU at a time
    gone: Gone = nobody  # which others have ended


class Pump:
    """Grades one after the other, as many at a time as the engine has places.

    What is graded once more runs where no hand-in waits for this device.
    """

    def __init__(self, desk: Desk, store: Store, clock: Clock, way: Way) -> None:
        self._desk = desk
        self._store = store
        self._clock = clock
        self._way = way
        self._steps: SimpleQueue[tuple[Job, Step]] = SimpleQueue()
        self._running: dict[str, HandIn | Regrading] = {}  # by key
        self._unrecorded: deque[Done] = deque()
        self._failed_in_a_row = 0
        self._stopping = threading.Event()
        self._beats = self._swept = self._paused_until = float("-inf")

    def hear(self, job: Job, step: Step) -> None:
        """Take a step of a running grading, from whatever thread the engine tells it in."""
        self._steps.put((job, step))

    def stop(self) -> None:
        """Begin no more gradings; ``run`` returns when those that run have ended."""
        self._stopping.set()

    def run(self, engine: Engine, *, grace: Callable[[], bool] = lambda: True) -> None:
        """Grade until stopped, and then for as long as ``grace`` holds; the rest is given back.

        Raises CannotGrade where the engine has no place left to grade in.
        """
        try:
            while not self._stopping.is_set() or (self._busy and grace()):
                try:
                    self._turn(engine)
                except StoreError as error:
                    _log.warning("the course database does not answer: %s", error.line)
                    time.sleep(POLL_SECONDS)
        finally:
            self._give_back()

    @property
    def _busy(self) -> bool:
        return bool(self._running or self._unrecorded)

    def _turn(self, engine: Engine) -> None:
        now = time.monotonic()
        if now >= self._beats + BEAT_SECONDS:
            self._beat()
            self._beats = now
        if now >= self._swept + SWEEP_SECONDS:
            self._sweep()
            self._swept = now
        self._tell_steps()
        while self._unrecorded:
            self._record(self._unrecorded[0])
            self._unrecorded.popleft()
        while self._may_claim(engine) and (item := self._claim()) is not None:
            self._begin(item, engine)
        done = engine.poll(POLL_SECONDS)
        if done is not None:
            self._unrecorded.append(done)

    def _may_claim(self, engine: Engine) -> bool:
        if self._stopping.is_set() or time.monotonic() < self._paused_until:
            return False
        return len(self._running) < engine.places

    def _claim(self) -> HandIn | Regrading | None:
        asked = (self._way.worker, self._way.device, self._clock.now(), LATELY)
        return self._store.claim(*asked) or self._store.regradings.claim(*asked)

    def _line(self, item: HandIn | Regrading) -> Line[HandIn] | Line[Regrading]:
        return self._store if isinstance(item, HandIn) else self._store.regradings

    def _begin(self, item: HandIn | Regrading, engine: Engine) -> None:
        lab = self._desk.labs.get(item.lab)
        files = files_of(self._desk.course, lab, item.path) if lab and item.path else {}
        if lab is None or any(name not in files for name in lab.needed):
            gone = "its files are gone" if lab else f"there is no lab {item.lab}"
            self._failed(item, gone)
            return
        if lab.is_manual:
            self._to_readers(item, lab)
            return
        if isinstance(item, HandIn):
            self._store.tell(item.number, "begun", {"tries": item.tries}, self._clock.now())
        self._running[item.key] = item
        engine.submit(
            Job(
                student=item.student,
                commit=item.work,
                lab=str(lab.folder),
                version=lab_version(lab),
                files=files,
                device=self._way.device,
                sandbox=self._way.sandbox,
                seed=item.seed if isinstance(item, Regrading) else None,
                beside=self._way.beside,
                suite=self._desk.suite(item.student, lab),
                ticket=item.key,
                questions=self._desk.course.questions,
                team=self._desk.course.team(item.student, lab.number),
            )
        )

    def _to_readers(self, item: HandIn | Regrading, lab: Lab) -> None:
        """Let work wait for a reader: nothing of it is run."""
        now = self._clock.now()
        attempt = unread_attempt(lab, item.student, item.work, item.received, now)
        if self._line(item).finish(item.number, self._way.worker, attempt, now):
            self._say(item, "graded", {})

    def _record(self, done: Done) -> None:
        """Take a verdict to the gradebook; what is not this pump's any more is dropped."""
        item = self._running.get(done.job.ticket)
        if item is None:
            return
        if done.infra:
            self._failed(item, done.why)
        else:
            self._failed_in_a_row = 0
            lab = self._desk.labs[item.lab]
            attempt = attempt_of(done, lab, "", item.received, self._way.engine)
            now = self._clock.now()
            if self._line(item).finish(item.number, self._way.worker, attempt, now):
                told = {"points": attempt.points, "possible": attempt.possible}
                self._say(item, "graded", told)
        self._running.pop(item.key, None)

    def _failed(self, item: HandIn | Regrading, why: str) -> None:
        now = self._clock.now()
        found = self._line(item).fail(item.number, self._way.worker, why, now, MOST_TRIES)
        _log.warning("%s was not graded, by our fault: %s", item.key, why)
        self._failed_in_a_row += 1
        if self._failed_in_a_row >= IN_A_ROW:
            pause = min(2.0 ** (self._failed_in_a_row - IN_A_ROW) * 5.0, LONGEST_PAUSE)
            self._paused_until = time.monotonic() + pause
        if found is not None:
            self._tell_state(found)

    def _tell_state(self, item: HandIn | Regrading) -> None:
        kind = "again" if item.state is State.WAITING else item.state.value
        self._say(item, kind, {"tries": item.tries})

    def _say(self, item: HandIn | Regrading, kind: str, data: Mapping[str, object]) -> None:
        if not isinstance(item, HandIn):
            return  # nobody watches it
        with suppress(StoreError):  # only for who watches
            self._store.tell(item.number, kind, data, self._clock.now())

    def _tell_steps(self) -> None:
        with suppress(Empty):
            while True:
                job, step = self._steps.get_nowait()
                item = self._running.get(job.ticket)
                if item is not None:
                    self._say(item, "task", asdict(step))

    def _beat(self) -> None:
        for key, item in [*self._running.items()]:
            if not self._line(item).beat(item.number, self._way.worker, self._clock.now()):
                _log.warning("%s was taken from this worker", item.key)
                del self._running[key]  # its verdict will belong to nobody

    def _sweep(self) -> None:
        for line in (self._store, self._store.regradings):
            for item in line.sweep(self._clock.now(), SILENCE, MOST_ABANDONED, self._way.gone):
                _log.warning("%s was abandoned by %s", item.key, item.worker)
                self._tell_state(item)

    def _give_back(self) -> None:
        for item in self._running.values():
            with suppress(StoreError):  # then it is swept
                self._line(item).release(item.number, self._way.worker)
        self._running.clear()
