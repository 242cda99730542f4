"""Kernels are compiled ahead of the graded tests, on all cores.

On a GPU most of a grading is a compiler at work in the submission's process, one kernel at a time.
So processes forked from the session run its tests before the session gets to them, each in workers
of its own, under another seed. Nobody hears of their verdicts: what was compiled there is all that
is taken (``proxy/instruments/handed_on``), and lies in a graded worker before its test begins.

A machine's forerunners are as many as its cores, however many gradings it makes at a time.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from grader.judge.plugin.draw import derive
from grader.judge.plugin.items import takes
from grader.judge.setup.configuration import Run
from grader.judge.setup.start import die_with
from grader.locks import take_one
from grader.proxy.conversation.spent import AHEAD
from grader.proxy.instruments.handed_on import UNFINISHED
from grader.proxy.student import Student
from grader.sandbox.setting import Setting

MOST = 10  # forerunners of one grading
SPARED = 2  # cores: for the session and its worker
BEGUN = ".begun"
POLL_SECONDS = 0.005
PATIENCE_SECONDS = 60.0  # for one test: who waits longer compiles for itself
LAST_SECONDS = 5.0  # for a forerunner to end its workers

Forerun = Callable[[Run, "Course"], None]  # runs the tests of a course in a process of its own


def pays(setting: Setting) -> bool:
    """Tell whether workers of a lab compile for a GPU, into places that are alike in all of them.

    Triton's files name each other by whole paths.
    """
    compiles = setting.triton or "torch._dynamo" in setting.preload
    return compiles and setting.level == "bwrap"


class Shelf:
    """Where forerunners put what was compiled for each test, for the session and for each other."""

    def __init__(self, place: Path) -> None:
        self.folder = place
        self.seen: set[str] = set()  # tests, by their places
        self._mine: dict[int, bool] = {}  # tests

    def claim(self, place: int) -> bool:
        """Tell whether the test at a place is ours to compile, and no other process's."""
        if place not in self._mine:
            try:
                (self.folder / f"{place}{BEGUN}").touch(exist_ok=False)
                self._mine[place] = True
            except FileExistsError:
                self._mine[place] = False
        return self._mine[place]

    def save(self, place: int, student: Student) -> None:
        """Put there what is new in a forerunner since its last test."""
        self.seen.add(str(place))
        student.handed_on_.save(self.folder / str(place))

    def learn(self, student: Student) -> None:
        """Take what others have put there since."""
        for file in self.folder.iterdir():
            if file.suffix not in (UNFINISHED, BEGUN) and file.name not in self.seen:
                self.seen.add(file.name)
                student.handed_on_.load(file)


class Course:
    """A pytest plugin that runs the tests that nobody has begun, in their order."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.student: Student | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests, and save what was compiled for each."""
        for place, item in enumerate(session.items):
            # What is timed has the GPU alone.
            if not takes(item, "tier") and self._shelf.claim(place):
                self._run(place, item)
        return True

    def _run(self, place: int, item: pytest.Item) -> None:
        assert self.student is not None
        self._shelf.learn(self.student)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        self.student.take_compiled_()
        self._shelf.save(place, self.student)


class Ahead:
    """The forerunners of one session, and what has come of them so far."""

    def __init__(self, student: Student, folder: Path) -> None:
        self._student = student
        self._shelf = Shelf(folder)
        self._places: dict[str, int] = {}
        self._pids: list[int] = []
        self._seats: list[int] = []  # locks

    def start(self, run: Run, forerun: Forerun) -> int:
        """Fork as many as the machine has room for, before a thread or CUDA is there.

        Returns how many there are.
        """
        self._shelf.folder.mkdir(exist_ok=True)
        run = replace(run, seed=derive(run.seed, "ahead") >> 32)
        session = os.getpid()
        for _ in range(min(MOST, len(os.sched_getaffinity(0)) - SPARED)):
            seat = take_one("ahead", os.cpu_count() or 1)
            if seat is None:
                break
            self._seats.append(seat)
            pid = os.fork()
            if pid == 0:
                _be_one(session, partial(forerun, run, Course(self._shelf)))
            self._pids.append(pid)
        return len(self._pids)

    def expect(self, items: Sequence[pytest.Item]) -> None:
        """Learn the order of the tests, which is that of the forerunners."""
        self._places = {item.nodeid: place for place, item in enumerate(items)}

    def wait_for(self, item: pytest.Item, in_the_way: Callable[[], bool]) -> None:
        """Wait until the kernels of a test are compiled, if anybody has begun with them.

        Not for a forerunner that waits for others, as long as we are ``in_the_way`` of those.
        """
        place = self._places.get(item.nodeid, -1)
        if takes(item, "tier") or not self._pids or self._shelf.claim(place):
            return
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self._student.spent_.on(AHEAD):
            while str(place) not in self._shelf.seen and time.monotonic() < deadline:
                alive = self._alive()  # first: what it saved before its end is there then
                self._shelf.learn(self._student)
                if not alive or in_the_way():
                    break
                time.sleep(POLL_SECONDS)

    def _alive(self) -> bool:
        self._pids = [pid for pid in self._pids if not os.waitpid(pid, os.WNOHANG)[0]]
        return bool(self._pids)

    def close(self) -> None:
        """End the forerunners, and wait until their workers are gone."""
        for pid in self._pids:
            os.kill(pid, signal.SIGINT)
        deadline = time.monotonic() + LAST_SECONDS
        while self._alive() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._pids.clear()
        for seat in self._seats:
            os.close(seat)
        self._seats.clear()


def _be_one(session: int, work: Callable[[], None]) -> NoReturn:
    """Work without a word, and end."""
    try:
        die_with(session)
        nothing = os.open(os.devnull, os.O_RDWR)
        for target in (0, 1, 2):
            os.dup2(nothing, target)
        work()
    finally:
        os._exit(0)
