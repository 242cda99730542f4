"""A network of ours between ranks that are all the submission's: who sends to whom is matched here.

A message passes when one rank sends it and the other one waits for it. So a rank that waits has an
edge to each rank that it waits for, and a circle of such edges never ends: that is told at once, as
is waiting for a rank that has returned. What runs for ever elsewhere ends by its own deadline.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor

from grader.errors import Mismatch, StudentError
from grader.proxy.loans.watchdog import WATCHDOG
from grader.proxy.ranks.peer import Peer


@dataclass(frozen=True, slots=True)
class Message:
    """What passed: from whom, to whom, and of which form."""

    source: int
    to: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(slots=True)
class Waiting:
    """What a rank has asked for and not got yet."""

    x: Tensor | None
    to: int | None
    source: int | None
    got: Tensor | None = None

    @property
    def over(self) -> bool:
        return self.to is None and self.source is None

    @property
    def needs(self) -> list[int]:
        """The ranks without which it does not go on."""
        return [rank for rank in (self.to, self.source) if rank is not None]


class Wired(Peer):
    """A rank's end of the network."""

    def __init__(self, network: "Network", rank: int) -> None:
        super().__init__(rank, network.world)
        self._network = network

    def swap(self, x: Tensor | None, to: int | None, source: int | None) -> Tensor | None:
        """Wait until both halves are done."""
        # No work of ours: it lasts as long as other ranks do, which have deadlines of their own.
        return WATCHDOG.pause(lambda: self._network.pass_on(self.rank, x, to, source))


class Network:
    """Matches what ranks say to each other in one call of all of them."""

    def __init__(self, world: int) -> None:
        self.world = world
        self.messages: list[Message] = []  # in the order in which they passed
        self._changed = threading.Condition()
        self._waiting: dict[int, Waiting] = {}
        self._left: dict[int, bool] = {}  # ranks whose call is over: whether it failed
        self._verdict: Mismatch | None = None

    def peer(self, rank: int) -> Wired:
        """Return a rank's end."""
        return Wired(self, rank)

    def sent_by(self, rank: int) -> list[Message]:
        """Return the messages of a rank, in its order."""
        return [message for message in self.messages if message.source == rank]

    @contextmanager
    def attended(self, rank: int) -> Generator[None, None, None]:
        """Hold a rank's place while its call runs: who waits for it beyond that waits in vain."""
        failed = True
        try:
            yield
            failed = False
        finally:
            with self._changed:
                self._left[rank] = failed
                self._look()

    def pass_on(
        self, rank: int, x: Tensor | None, to: int | None, source: int | None
    ) -> Tensor | None:
        """Do what a rank asks for, once others have their part in it.

        Raises Mismatch for a circle of ranks that wait, and StudentError where another has failed.
        """
        own = Waiting(x, to, source)
        with self._changed:
            self._waiting[rank] = own
            try:
                self._match(rank, to)
                self._match(source, rank)
                self._look()
                while not own.over:
                    if self._verdict:
                        raise Mismatch(str(self._verdict))
                    gone = next((r for r in own.needs if self._left.get(r)), None)
                    if gone is not None:
                        text = f"closed by peer: rank {gone} has failed"
                        raise StudentError("ConnectionError", text)
                    self._changed.wait()
            finally:
                del self._waiting[rank]
        return own.got

    def _match(self, source: int | None, to: int | None) -> None:
        """Let a message pass if both of its ends are ready."""
        if source is None or to is None:
            return
        one, other = self._waiting.get(source), self._waiting.get(to)
        if one is None or other is None or one.to != to or other.source != source:
            return
        assert one.x is not None
        shape, dtype = tuple(one.x.shape), str(one.x.dtype)
        self.messages.append(Message(source, to, shape, dtype))
        other.got, one.x = one.x, None
        one.to = other.source = None
        self._changed.notify_all()

    def _look(self) -> None:
        """Tell all who wait if some of them wait for ever."""
        if self._verdict is None:
            circle = self._circle()
            if circle:
                steps = [self._says(*edge) for edge in circle]
                self._verdict = Mismatch(f"the ranks wait for each other: {', '.join(steps)}")
            for rank, waiting in self._waiting.items():
                done = next((r for r in waiting.needs if self._left.get(r) is False), None)
                if done is not None and not circle:
                    text = f"{self._says(rank, done)}, which has returned"
                    self._verdict = Mismatch(text)
        self._changed.notify_all()

    def _circle(self) -> list[tuple[int, int]]:
        """Return edges from rank to rank that come back to where they began, if there are any."""
        for start in sorted(self._waiting):
            before: dict[int, int] = {}  # rank -> the first that was found to wait for it
            found = [start]
            for rank in found:
                for other in self._needed(rank):
                    if other not in before:
                        before[other] = rank
                        found.append(other)
            if start in before:
                edges = [(before[start], start)]
                while edges[-1][0] != start:
                    edges.append((before[edges[-1][0]], edges[-1][0]))
                return edges[::-1]
        return []

    def _needed(self, rank: int) -> list[int]:
        waiting = self._waiting.get(rank)
        return waiting.needs if waiting else []

    def _says(self, rank: int, other: int) -> str:
        sends = self._waiting[rank].to == other
        what = f"sends to rank {other}" if sends else f"waits for a message of rank {other}"
        return f"rank {rank} {what}"
