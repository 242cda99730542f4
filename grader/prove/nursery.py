"""A process that forks workers: what they import is imported once, before any of them starts.

For files of ours alone: nothing confines what is forked here. It runs on a stage, as a worker does,
and sees what a worker sees; ``forked`` asks it. It runs no operator: a thread would be lost in a
fork, and with it whatever waits for that thread.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy
import torch

from grader.wire.channel import Channel
from grader.worker import boot

MAX_REQUEST = 1 << 16
FDS = 5  # of a request: the worker's socket, inbox, outbox, what it prints, who hears of its end
PREPARED = ("device", "threads", "given", "triton", "ranks")  # what all forks have in common
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> None:
    """Import what is given, then fork whenever we are asked to, until nobody can ask."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    config = json.loads(sys.argv[2])
    given = boot.prepare(config)
    gc.enable()
    gc.freeze()  # what is shared is not looked at again, and so not copied
    # What a worker starts and leaves behind comes to us.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    Nursery(sock, config, given).serve()


@dataclass(slots=True)
class Nursery:
    """The workers that are alive: the number of each, and who hears of its end, by its pidfd."""

    sock: socket.socket
    config: dict[str, Any]
    given: dict[str, ModuleType]
    alive: dict[int, tuple[int, socket.socket]] = field(default_factory=dict[Any, Any])

    def serve(self) -> None:
        """Fork and bury."""
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd in self.alive:
                    poll.unregister(fd)
                    self.bury(fd)
                elif (born := self.answer()) is None:
                    return
                elif born >= 0:
                    poll.register(born, select.POLLIN)

    def answer(self) -> int | None:
        """Fork as the next request asks and return a pidfd; None if no more come, -1 if refused."""
        data, fds, _, _ = socket.recv_fds(self.sock, MAX_REQUEST, FDS)
        if not data:
            return None
        request = json.loads(data)
        hears = socket.socket(fileno=fds[-1])
        if problem := self._problem(request["config"]):
            for fd in fds[:-1]:
                os.close(fd)
            with hears, contextlib.suppress(OSError):
                hears.send(json.dumps({"refused": problem}).encode())
            return -1
        nursery = os.getpid()
        pid = os.fork()
        if pid == 0:
            hears.close()
            self._become_worker(nursery, request, fds)
        for fd in fds[:-1]:
            os.close(fd)
        pidfd = os.pidfd_open(pid)
        self.alive[pidfd] = pid, hears
        with contextlib.suppress(OSError):  # who asked may be gone
            socket.send_fds(hears, [json.dumps({"pid": pid}).encode()], [pidfd])
        return pidfd

    def _problem(self, config: dict[str, Any]) -> str:
        """Say why a fork would not be what a fresh worker is, or return an empty string."""
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            return f"{threads} threads run in the process that would be forked"
        other = [name for name in PREPARED if config[name] != self.config[name]]
        return f"it was prepared with another {', '.join(other)}" if other else ""

    def _become_worker(self, nursery: int, request: dict[str, Any], fds: list[int]) -> NoReturn:
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == nursery:  # else it ended before we could ask for that
                self._begin(request, fds)
        finally:
            os._exit(1)

    def _begin(self, request: dict[str, Any], fds: list[int]) -> NoReturn:
        """Take what is the worker's own in place of what is ours, and serve."""
        os.setsid()
        self.sock.close()
        for pidfd, (_, hears) in self.alive.items():
            os.close(pidfd)
            hears.close()
        for target in (1, 2):
            os.dup2(fds[3], target)
        os.close(fds[3])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        forget_randomness()
        channel = Channel(socket.socket(fileno=fds[0]), fds[1], fds[2], takes_fds=True)
        boot.serve(channel, request["config"], self.given)

    def bury(self, pidfd: int) -> None:
        """Tell how a worker ended, and kill what it has left behind."""
        pid, hears = self.alive.pop(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(pidfd)
        for orphan in self._orphans():
            with contextlib.suppress(OSError):
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
        with hears, contextlib.suppress(OSError):
            hears.send(json.dumps({"ended": code}).encode())

    def _orphans(self) -> Iterator[int]:
        """Give the processes that came to us, but those of workers that are alive."""
        workers = {pid for pid, _ in self.alive.values()}
        children = Path("/proc/thread-self/children").read_text().split()
        for pid in map(int, children):
            with contextlib.suppress(OSError):
                if pid not in workers and os.getsid(pid) not in workers:
                    yield pid


def forget_randomness() -> None:
    """Draw the seeds anew that an interpreter draws when it starts; Python's own sees to its."""
    torch.default_generator.seed()
    numpy.random.seed()
    tempfile.tempdir = None
