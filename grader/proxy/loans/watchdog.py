"""An end to work of ours whose length a submission chose: past its limit it is interrupted.

A limit is a deadline, or an amount of processor time, which waiting and a busy machine leave alone.

A thread of ours raises ``Overtime`` in the one that works, which ends every loop of Python. A call
of C is not interrupted; one that goes on and on ends the process, by a timer of the kernel.
"""

import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from grader.sandbox.pace import PACE

T = TypeVar("T")

LOOK_SECONDS = 0.05  # between two looks at the clock
AGAIN_SECONDS = 1.0  # what is raised in a finalizer is lost: it is raised again
MOST_SECONDS = 1e6  # that a timer takes; a deadline may be infinite
HARD_SECONDS = 60.0  # of processor time past the deadline, after which the process ends


class Overtime(BaseException):
    """Raised in work that is past its deadline; what handles errors does not swallow it."""


class Limit:
    """An end on a clock."""

    __slots__ = ("_clock", "_end", "counts_work")

    def __init__(
        self, clock: Callable[[], float], end: float, *, counts_work: bool = False
    ) -> None:
        self._clock = clock
        self._end = end
        self.counts_work = counts_work

    def give(self, seconds: float) -> None:
        """Put the end off."""
        self._end += seconds

    @property
    def now(self) -> float:
        """What its clock says."""
        return self._clock()

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 the work is late."""
        return self._end - self._clock()


class Watchdog:
    """Watches any number of threads, each at one piece of work, which may be part of another.

    There is no lock: ``Overtime``, raised in one that holds it, could leave it closed for ever.
    """

    def __init__(self) -> None:
        self._limits: dict[int, tuple[Limit, ...]] = {}  # by thread that is at work
        self._raising = 0  # the thread in which we may be about to raise
        self._busy = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, deadline: float, work: Callable[[], T]) -> T:
        """Return what ``work`` does, or raise Overtime; nothing is raised once it has ended."""
        return self._run(Limit(PACE.now, deadline), work)

    def run_for(self, seconds: float, work: Callable[[], T]) -> T:
        """Do the same for what may take so much of this thread's processor time.

        Work inside of it that has a limit of its own does not count.
        """
        clock = time.pthread_getcpuclockid(threading.get_ident())
        end = time.clock_gettime(clock) + seconds
        limit = Limit(lambda: time.clock_gettime(clock), end, counts_work=True)
        return self._run(limit, work)

    def _run(self, limit: Limit, work: Callable[[], T]) -> T:
        thread = threading.get_ident()
        self._start()
        around = self._limits.get(thread, ())[-1:]
        since = [outer.now for outer in around]
        try:
            try:
                self._watch(thread, limit)
                return work()
            finally:
                for outer, then in zip(around, since, strict=True):
                    if outer.counts_work:
                        outer.give(outer.now - then)
                self._let_go(thread, limit)
        except Overtime:
            self._let_go(thread, limit)  # the first try may be what was interrupted
            raise

    def pause(self, work: Callable[[], T]) -> T:
        """Return what ``work`` does, unwatched, inside of what is watched."""
        thread = threading.get_ident()
        limits = self._limits.get(thread)
        if not limits:
            return work()
        self._let_go(thread, limits[-1])
        try:
            return work()
        finally:
            self._watch(thread, limits[-1])

    def _watch(self, thread: int, limit: Limit) -> None:
        self._limits[thread] = (*self._limits.get(thread, ()), limit)
        self._set_timer(thread)
        self._busy.set()

    def _let_go(self, thread: int, limit: Limit) -> None:
        left = tuple(item for item in self._limits.get(thread, ()) if item is not limit)
        if left:
            self._limits[thread] = left
        else:
            self._limits.pop(thread, None)
        # From here on it is not begun, but it may be under way.
        while self._raising == thread:
            time.sleep(0)
        _look_for_raised()
        self._set_timer(thread)

    def _set_timer(self, thread: int) -> None:
        """Let the kernel end the process a while after the innermost work of a thread is late."""
        limits = self._limits.get(thread)
        if limits:
            left = max(0.0, min(limits[-1].left, MOST_SECONDS))
            signal.setitimer(signal.ITIMER_PROF, left + HARD_SECONDS)
        elif not self._limits:
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_looking, daemon=True)
                self._thread.start()

    def _keep_looking(self) -> None:
        told: dict[int, float] = {}  # when we last raised in a thread
        while True:
            # Work of ours may have left no memory for this.
            with contextlib.suppress(MemoryError, RuntimeError):
                if not self._limits:
                    told.clear()
                    self._busy.clear()
                    if not self._limits:
                        self._busy.wait()
                time.sleep(LOOK_SECONDS)
                self._look(told)

    def _look(self, told: dict[int, float]) -> None:
        now = PACE.now()
        for thread, limits in [*self._limits.items()]:
            if limits[-1].left >= 0 or now <= told.get(thread, -MOST_SECONDS) + AGAIN_SECONDS:
                continue
            self._raising = thread
            try:
                if self._limits.get(thread) is limits:
                    told[thread] = now
                    _raise_in(thread, Overtime)
            finally:
                self._raising = 0


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Let an exception be raised in a thread, where it next looks for one."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


def _look_for_raised() -> None:
    """Let what was raised in this thread arrive here, if it has not: each call looks for it.

    Taken back, by no exception in its place, it would leave the interpreter looking for ever.
    """


WATCHDOG = Watchdog()  # of this process
