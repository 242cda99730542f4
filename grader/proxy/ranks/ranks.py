"""The ranks of one sandbox, from the judge's side: forked together, watched, killed together."""

import json
import os
import socket
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from grader.errors import SandboxError, SubmissionFault
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox.pace import PACE
from grader.sandbox.process import ARENA, START_SECONDS, WorkerProcess, ended, make_arena
from grader.wire.channel import Channel

ANSWER_SECONDS = 2.0  # for the parent of the ranks, and for a watch, which only look around
RANK_ARENA = ARENA // 4  # bytes: the judge maps two for each rank of each size
MAX_ANSWER = 1 << 16  # bytes of what a watch says
JOINING = 4 << 30  # bytes that a rank on a GPU may take while it joins a group
SPARE = 256 << 20  # bytes for each rank, beyond what one took that had done nothing


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a rank is: frames in the submission's file, the last collective and its line."""

    frames: tuple[tuple[int, str], ...] = ()
    last: tuple[str, int] | None = None
    begun: int = 0  # collectives, in the calls that were not asked about yet


class RankProcess:
    """One rank; to a conversation it is a worker. It dies with its sandbox alone."""

    def __init__(
        self, sandbox: "RankSandbox", pid: int, channel: Channel, watch: socket.socket
    ) -> None:
        self.channel = channel
        self._sandbox = sandbox
        self._pid = pid
        self._watch = watch

    def kill(self) -> None:
        """Do nothing: the group, when it has heard of all its ranks, kills the sandbox."""

    def fault(self) -> SubmissionFault:
        """Say why the rank is gone."""
        return ended(self._sandbox.exit_status(self._pid))

    def look(self) -> Whereabouts:
        """Ask the rank's watch where it is; nothing is known of one that does not say."""
        data = b""
        deadline = time.monotonic() + ANSWER_SECONDS
        try:
            self._watch.settimeout(ANSWER_SECONDS)
            self._watch.sendall(b"?")
            while not data.endswith(b"\n") and len(data) < MAX_ANSWER:
                self._watch.settimeout(max(deadline - time.monotonic(), 0.01))
                part = self._watch.recv(1 << 14)
                if not part:
                    break
                data += part
        except OSError:
            return Whereabouts()
        return read_whereabouts(data)

    def close(self) -> None:
        """Give the sockets up."""
        self.channel.close()
        self._watch.close()


def read_whereabouts(data: bytes) -> Whereabouts:
    """Read what a watch said; it may say anything."""
    try:
        match json.loads(data):
            case {"frames": list() as frames, "last": last, "begun": int(begun)}:
                return Whereabouts(_frames(cast(list[Any], frames)), _last(last), begun)
            case _:
                return Whereabouts()
    except (ValueError, RecursionError):
        return Whereabouts()


def _frames(items: list[Any]) -> tuple[tuple[int, str], ...]:
    found: list[tuple[int, str]] = []
    for item in items[:50]:
        match item:
            case [int(line), str(name)]:
                found.append((line, name[:100]))
            case _:
                return ()
    return tuple(found)


def _last(item: Any) -> tuple[str, int] | None:
    match item:
        case [str(kind), int(line)]:
            return kind[:50], line
        case _:
            return None


class RankSandbox:
    """A worker whose interpreter forks every rank of every group size before it loads anything."""

    def __init__(self, parent: WorkerProcess, sizes: Sequence[int], device: str) -> None:
        """``device`` is "cpu", or "cuda" for a GPU for each rank."""
        self.parent = parent
        clock = Clock(START_SECONDS)
        self._talk = Conversation(parent, "cpu", clock, "")
        self._lock = threading.Lock()
        self._device = device
        self._idle = 0  # bytes of a rank on a GPU that has done nothing yet
        self.ranks = {size: [self.fork(rank) for rank in range(size)] for size in sizes}
        # From here on the parent may be stopped, or talk without end.
        clock.call_seconds = ANSWER_SECONDS

    def fork(self, rank: int) -> RankProcess:
        """Start a rank that is in no group yet; who is not of a size is closed by who asked."""
        device = self._device if self._device == "cpu" else f"{self._device}:{rank}"
        (ours, theirs), (watch, watched) = socket.socketpair(), socket.socketpair()
        arenas = make_arena(RANK_ARENA), make_arena(RANK_ARENA)  # to the rank, and from it
        try:
            with theirs, watched:
                fds = (theirs.fileno(), *arenas, watched.fileno())
                fork = {"op": "fork", "device": device}
                pid = self._talk.request(fork, fds=fds, seconds=START_SECONDS)
            channel = Channel(
                *(ours, arenas[1], arenas[0]), knows_sender=True, holds=RANK_ARENA, now=PACE.now
            )
        except SubmissionFault as error:  # nothing of the submission has run yet
            raise SandboxError(f"a rank did not start: {error}") from None
        finally:
            for fd in arenas:
                os.close(fd)
        return RankProcess(self, pid, channel, watch)

    @contextmanager
    def allowing(self, size: int) -> Generator[None, None, None]:
        """Let a group join; what drivers and NCCL take for its ranks then is not the submission's.

        That is measured in the first group, when nothing of the submission runs in here.
        """
        if self._device == "cpu":
            yield
            return
        first, before = not self._idle, self.parent.used()
        self.parent.allow(size * JOINING)
        yield
        taken = max(0, self.parent.used() - before) // size
        self._idle = taken if first else max(self._idle, min(taken, 2 * self._idle))
        self.parent.allow(size * (self._idle + self._idle // 2 + SPARE - JOINING))

    @property
    def over(self) -> bool:
        """Whether it has been killed, or its parent is of no more use."""
        return self._talk.over

    def exit_status(self, pid: int) -> int | None:
        """Return how a rank ended; None if it still runs or its parent cannot say."""
        # The ranks share a user id with their parent: by now it may be dead, or lie.
        deadline = time.monotonic() + ANSWER_SECONDS
        with self._lock:
            while time.monotonic() < deadline and not self._talk.over:
                try:
                    code = self._talk.request({"op": "exit_status", "pid": pid})
                except SubmissionFault:
                    return None
                if type(code) is int and -64 <= code <= 255:
                    return code
                time.sleep(0.02)
        return None

    def kill(self) -> SubmissionFault | None:
        """Kill the parent and every rank; return the limit that they broke together, if any."""
        self._talk.over = True
        fault = self.parent.broken_limit()
        for ranks in self.ranks.values():
            for rank in ranks:
                rank.close()
        return fault
