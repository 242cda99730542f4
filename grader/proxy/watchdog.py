"""An end to work of ours whose length a submission chose: past its deadline it is interrupted.

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


class Watchdog:
    """Watches any number of threads, each at one piece of work at a time.

    There is no lock: ``Overtime``, raised in one that holds it, could leave it closed for ever.
    """

    def __init__(self) -> None:
        self._ends: dict[int, float] = {}  # by thread that is at work: its deadline
        self._raising = 0  # the thread in which we may be about to raise
        self._busy = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, deadline: float, work: Callable[[], T]) -> T:
        """Return what ``work`` does, or raise Overtime; nothing is raised once it has ended."""
        thread = threading.get_ident()
        self._start()
        try:
            try:
                self._watch(thread, deadline)
                return work()
            finally:
                self._let_go(thread)
        except Overtime:
            self._let_go(thread)  # the first try may be what was interrupted
            raise

    def pause(self, work: Callable[[], T]) -> T:
        """Return what ``work`` does, unwatched, inside of what is watched."""
        thread = threading.get_ident()
        deadline = self._ends.get(thread)
        if deadline is None:
            return work()
        self._let_go(thread)
        try:
            return work()
        finally:
            self._watch(thread, deadline)

    def _watch(self, thread: int, deadline: float) -> None:
        left = max(0.0, min(deadline - PACE.now(), MOST_SECONDS))
        signal.setitimer(signal.ITIMER_PROF, left + HARD_SECONDS)
        self._ends[thread] = deadline
        self._busy.set()

    def _let_go(self, thread: int) -> None:
        self._ends.pop(thread, None)
        # From here on it is not begun, but it may be under way.
        while self._raising == thread:
            time.sleep(0)
        _look_for_raised()
        if not self._ends:
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
                if not self._ends:
                    told.clear()
                    self._busy.clear()
                    if not self._ends:
                        self._busy.wait()
                time.sleep(LOOK_SECONDS)
                self._look(told)

    def _look(self, told: dict[int, float]) -> None:
        now = PACE.now()
        for thread, deadline in [*self._ends.items()]:
            if now <= max(deadline, told.get(thread, deadline - 1) + AGAIN_SECONDS):
                continue
            self._raising = thread
            try:
                if self._ends.get(thread) == deadline:
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
