"""A process that forks workers: what they import is imported once, before any of them starts.

It lies in a sandbox that shows what a worker sees, and no submission ever speaks to it: it reads
requests of the judge and nothing else. A fork makes walls of its own (``confinement``), and only
then may it hear of a submission. Where the host's users are divided it becomes one of them that no
other is; after that it can become nobody else. Here nothing runs an operator: a thread would be
lost in a fork, and with it whatever waits for that thread.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy
import torch

from grader.worker import boot, confinement, own_objects

MAX_REQUEST = 1 << 16
FDS = 5  # of a request: the worker's socket, inbox, outbox, what it prints, who hears of it
PREPARED = (
    "device",
    "threads",
    "given",
    "preload",
    "triton",
    "ranks",
)  # what all forks have in common


@dataclass(frozen=True, slots=True)
class Birth:
    """What a fork was asked to become."""

    request: dict[str, Any]
    given: dict[str, ModuleType]
    fds: list[int]  # the worker's socket, inbox, outbox, what it prints
    hears: socket.socket
    user: int | None  # of the host, whom it is to become

    def announce(self) -> None:
        """Say that there is a worker, and that it ends with this process."""
        own = os.pidfd_open(os.getpid())
        with self.hears, contextlib.suppress(OSError):  # who asked may be gone
            socket.send_fds(self.hears, [json.dumps({"born": True}).encode()], [own])
        os.close(own)

    def refuse(self, why: str) -> None:
        """Say why there is none, in the worker's place."""
        with self.hears, contextlib.suppress(OSError):
            self.hears.send(json.dumps({"refused": why}).encode())
            os.write(self.fds[3], why.encode())

    def serve(self) -> NoReturn:
        """Be the worker: what one draws and prints is its own."""
        for target in (1, 2):
            os.dup2(self.fds[3], target)
        os.close(self.fds[3])
        forget_randomness()
        boot.serve(self.fds[:3], self.request["config"], self.given)


Begin = Callable[[Birth], None]  # in a fork; who returns has failed
Tidy = Callable[[Collection[int]], None]  # after an end; given are those that are alive


def main() -> None:
    """Fork confined workers until nobody can ask for one."""
    run(confine, lambda alive: None, users())


def users() -> range:
    """Return the host's users that are there for forks: all in our namespace but ourselves."""
    first, _, count = map(int, Path("/proc/self/uid_map").read_text().split())
    return range(first + 1, first + count)


def run(begin: Begin, tidy: Tidy, users: Iterable[int] = ()) -> None:
    """Import what is given, then fork whenever we are asked to."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(sock.fileno(), False)
    config = json.loads(sys.argv[2])
    given = boot.prepare(config)
    own_objects.of_modules()
    gc.enable()
    gc.freeze()  # what is shared is not looked at again, and so not copied
    ForkServer(sock, config, given, begin, tidy, deque(users)).serve()


@dataclass(slots=True)
class ForkServer:
    """The workers that are alive, by their pidfds: number, user, and who hears of the end."""

    sock: socket.socket
    config: dict[str, Any]
    given: dict[str, ModuleType]
    begin: Begin
    tidy: Tidy
    users: deque[int] = field(default_factory=deque[int])  # the next one first
    alive: dict[int, tuple[int, int | None, socket.socket]] = field(default_factory=dict[Any, Any])

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
        hears = socket.socket(fileno=fds[-1])
        birth = Birth(json.loads(data), self.given, fds[:-1], hears, self._user())
        problem = self._problem(birth)
        pidfd = -1
        if problem:
            birth.refuse(problem)
        else:
            pid = self._fork(birth)
            pidfd = os.pidfd_open(pid)
            self.alive[pidfd] = pid, birth.user, hears
        for fd in birth.fds:
            os.close(fd)
        return pidfd

    def _user(self) -> int | None:
        """Return whom no worker that is alive has become: the one who was it longest ago."""
        taken = {user for _, user, _ in self.alive.values()}
        for user in (*self.users,):
            self.users.rotate(-1)
            if user not in taken:
                return user
        return None

    def _problem(self, birth: Birth) -> str:
        """Say why a fork would not be what a fresh worker is, or return an empty string."""
        threads = len(os.listdir("/proc/self/task"))
        if threads > 1:
            return f"{threads} threads run in the process that would be forked"
        if self.users and birth.user is None:
            return f"each of {len(self.users)} users has a worker"
        config = birth.request["config"]
        other = [name for name in PREPARED if config[name] != self.config[name]]
        return f"it was prepared with another {', '.join(other)}" if other else ""

    def _fork(self, birth: Birth) -> int:
        fork_server = os.getpid()
        if pid := os.fork():
            return pid
        try:
            confinement.die_with_parent()
            if os.getppid() == fork_server:  # else it ended before we could ask for that
                self.sock.close()
                for pidfd, (_, _, hears) in self.alive.items():
                    os.close(pidfd)
                    hears.close()
                self.begin(birth)
        except OSError as error:
            birth.refuse(str(error))
        finally:
            os._exit(1)

    def bury(self, pidfd: int) -> None:
        """Tell how a worker ended, and see to what it has left behind."""
        pid, _, hears = self.alive.pop(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(pidfd)
        self.tidy([pid for pid, *_ in self.alive.values()])
        with hears, contextlib.suppress(OSError):
            hears.send(json.dumps({"ended": code}).encode())


def confine(birth: Birth) -> None:
    """Make namespaces, wait outside of them for the first process inside, and end as it does."""
    confinement.divide(birth.user)
    confinement.die_with_parent()  # a change of rights may have cleared it
    pid = os.fork()
    if pid == 0:
        try:
            _come_first(birth)
        except OSError as error:
            birth.refuse(str(error))
        finally:
            os._exit(1)
    birth.hears.close()
    confinement.close_all_but((0, 1, 2))
    os._exit(confinement.reap(pid))


def _come_first(birth: Birth) -> NoReturn:
    """Make the walls, start the worker, and bury what ends in here, last of all the worker.

    Nobody in here can kill or stop the first process or look into it; all end with it.
    """
    confinement.furnish(birth.request["folder"], birth.request["scratch"])
    confinement.give_up_rights(bytes.fromhex(birth.request["filter"]))
    confinement.die_with_parent()
    birth.announce()
    pid = os.fork()
    if pid == 0:
        try:
            _become_worker(birth)
        finally:
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # whom no handler waits for does not reach it
    confinement.close_all_but((0, 1, 2))
    os._exit(confinement.reap(pid))


def _become_worker(birth: Birth) -> NoReturn:
    os.setsid()
    confinement.show_itself(True)
    nothing = os.open("/dev/null", os.O_RDONLY)  # that of the fork server would be all workers'
    os.dup2(nothing, 0)
    confinement.close_all_but((0, 1, 2, *birth.fds))
    sys.argv[1:] = [*map(str, birth.fds[:3]), json.dumps(birth.request["config"])]
    birth.serve()


def forget_randomness() -> None:
    """Draw the seeds anew that an interpreter draws when it starts; Python's own sees to its.

    A name of a temporary file is drawn anew by what has another number: not so in a namespace.
    """
    torch.default_generator.seed()
    numpy.random.seed()
    tempfile.tempdir = None
    tempfile._name_sequence = None  # pyright: ignore[reportAttributeAccessIssue]  # no public one
