"""Where a class is graded. An engine takes jobs and gives each one back when it has ended.

``local`` has a process for each place: one that dies takes a single grading with it, and on a GPU
each place sees one GPU only. ``grader.course.grading.cluster`` does the same on Ray.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import IO, Any, Protocol

from grader.course.grading.jobs import Done, Job, Step, grade_job
from grader.environment import VISIBLE, To, crossing
from grader.errors import CannotGrade
from grader.judge.setup.start import die_with_parent

BOOT = (
    "import sys; sys.path[:0] = {path!r}; "
    "from grader.course.grading.engines import serve; serve({fd}, {nice})"
)
OnStep = Callable[[Job, Step], None]


class Engine(Protocol):
    """Grades jobs, several at a time."""

    @property
    def places(self) -> int:
        """How many gradings run at a time, at most."""
        ...

    def submit(self, job: Job) -> None:
        """Take a job; it may have to wait."""
        ...

    def wait(self) -> Done:
        """Wait for the next job that ends; raises CannotGrade if none ever will."""
        ...

    def poll(self, seconds: float) -> Done | None:
        """Wait for it so long at most; None if none has ended by then."""
        ...

    def close(self) -> None:
        """End what still runs."""
        ...


class Place:
    """A process that grades one job after another; started when it is needed, and again."""

    def __init__(self, gpu: str = "", on_step: OnStep | None = None, nice: int = 0) -> None:
        self.gpu = gpu
        self._nice = nice
        self._on_step = on_step
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection[Any, Any] | None = None
        self._errors: IO[bytes] | None = None

    def grade(self, job: Job) -> Done:
        """Grade a job; the death of the process is a failure of ours, told with its last line."""
        started = time.monotonic()
        try:
            connection = self._connection or self._start()
            connection.send((job, self._on_step is not None))
            while not isinstance(told := connection.recv(), Done):
                if self._on_step is not None:
                    self._on_step(job, told)
            return told
        except (EOFError, OSError):
            told = self._last_words()
            self.close()
            return Done(job, round(time.monotonic() - started, 2), failure=told)

    def _start(self) -> "Connection[Any, Any]":
        ours, theirs = socket.socketpair()
        with theirs:
            self._errors = tempfile.TemporaryFile()
            path = [p for p in sys.path if p]
            boot = BOOT.format(path=path, fd=theirs.fileno(), nice=self._nice)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", boot],
                stdin=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt is the engine's to handle
                env=crossing(To.SESSION) | ({VISIBLE: self.gpu} if self.gpu else {}),
            )
        self._connection = Connection(ours.detach())
        return self._connection

    def _last_words(self) -> str:
        told = "the process that graded it ended"
        if self._process is None or self._errors is None:
            return told
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(timeout=5)
            told += f" with {signal.Signals(-code).name}" if code < 0 else f" with status {code}"
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        return f"{told}: {lines[-1].strip()}" if lines else told

    def kill(self) -> None:
        """End the process from another thread; a grading in it fails."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._connection is not None and self._errors is not None:
            self._process.kill()
            self._process.wait()
            self._connection.close()
            self._errors.close()
        self._process = self._connection = self._errors = None


class LocalEngine:
    """Processes of this machine: ``jobs`` of them, or ``beside`` for each GPU, if that is less."""

    def __init__(
        self,
        jobs: int,
        gpus: Sequence[str] = (),
        beside: int = 1,
        on_step: OnStep | None = None,
        nice: int = 0,
    ) -> None:
        """``on_step`` hears how gradings come on, each in a thread of its place; they give way to
        what else the machine does by ``nice``.
        """
        names = [*gpus] * beside if gpus else [""] * jobs
        self._places = [Place(name, on_step, nice) for name in names[:jobs]]
        self._waiting: SimpleQueue[Job | None] = SimpleQueue()
        self._ended: SimpleQueue[Done | BaseException | None] = SimpleQueue()
        self._closed = False
        self._set_aside: dict[str, str] = {}
        # A place's process dies with the thread that started it.
        self._threads = [
            threading.Thread(target=self._work, args=(place,), daemon=True)
            for place in self._places
        ]
        for thread in self._threads:
            thread.start()

    @property
    def places(self) -> int:
        """How many gradings run at a time: a GPU that was set aside counts no more."""
        return sum(place.gpu not in self._set_aside for place in self._places)

    @property
    def set_aside(self) -> dict[str, str]:
        """The GPUs that nothing is graded on any more, and why."""
        return dict(self._set_aside)

    def submit(self, job: Job) -> None:
        """Take a job; it may have to wait."""
        self._waiting.put(job)

    def wait(self) -> Done:
        """Wait for the next job that ends; raises CannotGrade once every GPU was set aside."""
        return self._taken(self._ended.get())

    def poll(self, seconds: float) -> Done | None:
        """Wait for it so long at most; None if none has ended by then."""
        try:
            ended = self._ended.get(timeout=seconds)
        except Empty:
            return None
        return self._taken(ended)

    def _taken(self, done: Done | BaseException | None) -> Done:
        if done is None:
            told = "; ".join(f"GPU {name}: {why}" for name, why in self._set_aside.items())
            raise CannotGrade(f"no GPU is left to grade on ({told})", "look at nvidia-smi")
        if isinstance(done, BaseException):
            raise done
        return done

    def close(self) -> None:
        """End what still runs, and its processes."""
        self._closed = True
        for place in self._places:
            self._waiting.put(None)
            place.kill()
        for thread in self._threads:
            thread.join(timeout=10)

    def _work(self, place: Place) -> None:
        try:
            while (job := self._waiting.get()) is not None and not self._closed:
                if place.gpu in self._set_aside:  # by a grading beside ours
                    self._waiting.put(job)
                    return
                done = place.grade(job)
                if done.sick:
                    # Before the job is given back: it may be repeated, but not here.
                    self._set_aside[place.gpu] = done.sick
                self._ended.put(done)
                if done.sick:
                    if not self.places:
                        self._ended.put(None)
                    return
        except BaseException as error:
            self._ended.put(error)  # else the run would wait for this job for ever
        finally:
            place.close()


def serve(fd: int, nice: int) -> None:
    """Grade what comes, until the other side is gone; this process ends with its starter."""
    die_with_parent()
    os.nice(nice)
    connection: Connection[Any, Any] = Connection(fd)
    with suppress(EOFError):
        while True:
            job, watched = connection.recv()
            connection.send(grade_job(job, connection.send if watched else None))
