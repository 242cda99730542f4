"""The judge's end of a device: a second worker in which the numbers of hidden arguments live.

It never meets the submission. What the submission's worker tells it comes by a socket between the
two; the judge gives it the numbers, and fetches the results itself.
"""

import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch
from torch import Tensor

from grader.errors import StudentTimeout
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.conversation.failed import Place
from grader.proxy.values.kinds import expect
from grader.sandbox.process import WorkerProcess
from grader.wire.errors import WireError
from grader.wire.storage import whole_storage

LATE = "the kernels that the call launched did not end within its time limit"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the device does for a submission beside moving numbers, and tells it.

    Where neither kernels nor graphs run there, all that torch can do. Else operators ``free`` on
    what these have made, and others on ``elements`` elements in all, of graphs from one replay to
    the next. ``numbers`` is how many single ones may be told.
    """

    elements: int = 0
    free: tuple[str, ...] = ()
    numbers: int = 0
    kernels: bool = False
    graphs: bool = False


class Device:
    """The device of a grading; it starts when one is needed, and begins anew for each watch."""

    def __init__(
        self, device: str, take: Callable[[], WorkerProcess], clock: Clock, file: str, source: str
    ) -> None:
        """``file`` is what the submission's own worker knows its ``source`` by."""
        self._device = device
        self._take = take
        self._clock = clock
        self._file = file
        self._source = source
        self._worker: WorkerProcess | None = None
        self._talk: Conversation | None = None
        self._next = 0
        self._watches = False  # whether a watch has begun, and has not ended

    def begin(self, policy: Policy) -> socket.socket:
        """Begin a watch, and return the end of the socket that the submission's worker gets."""
        if self._talk is None or self._talk.over:
            self._worker = self._take()
            self._talk = Conversation(self._worker, self._device, self._clock, self._source)
        ours, theirs = socket.socketpair()
        config = {**asdict(policy), "file": self._file, "text": self._source}
        with ours:
            header = {"op": "device", "action": "begin", "config": config}
            self._talk.request(header, fds=(ours.fileno(),))
        self._next, self._watches = 0, True
        return theirs

    def place(self) -> Place | None:
        """Return where it has failed in this test; None if it has not."""
        failed = None if self._talk is None else self._talk.failed
        return None if failed is None else Place(failed, elsewhere=True)

    def begin_test(self) -> None:
        """Forget what has failed in the test before, and a watch that it has not ended."""
        self._watches = False
        if self._talk is not None:
            self._talk.begin()

    def hide(self, value: Tensor, decoy: Tensor) -> int:
        """Give the device the numbers of an argument, and return what they go by."""
        number, self._next = self._next, self._next + 1
        self._ask("hide", laid_out_as(decoy, value), number=number)
        return number

    def read(self, told: Any) -> Tensor:
        """Return a result that the submission's worker has told the place of."""
        match told:
            case [int(after), *layout] if len(layout) == 5:
                return expect(self._ask("read", None, after=after, layout=layout), Tensor)
            case _:
                raise WireError("a malformed result")

    def lend(self, number: int) -> None:
        """Let the submission's worker have a graph of this number captured."""
        self._ask("lend", None, number=number)

    def replays(self) -> dict[str, Any]:
        """Return which graphs were captured and replayed, by their numbers, ahead of a result."""
        return cast(dict[str, Any], self._ask("replays", None))

    @contextmanager
    def counting(self, name: str) -> Generator[list[Any], None, None]:
        """Count what operators do there, in a watch: a message that nobody has seen counts, too.

        The list holds the reading afterwards.
        """
        reading: list[Any] = []
        if self._watches:
            self._ask("begin_count", None, name=name)
        yield reading
        if self._watches:
            reading.append(self._ask("end_count", None, name=name))

    def end(self, after: int) -> dict[str, Any]:
        """End the watch, and return what was done in it; raises what a kernel has raised."""
        self._watches = False
        return cast(dict[str, Any], self._ask("end", None, after=after))

    def _ask(self, action: str, value: Any, **more: Any) -> Any:
        assert self._talk is not None
        try:
            return self._talk.request({"op": "device", "action": action, **more}, value)
        except StudentTimeout:
            raise StudentTimeout(LATE) from None

    def retire(self) -> list[Callable[[], object]]:
        """Give the worker up; return what ends it."""
        worker, self._worker, self._talk, self._watches = self._worker, None, None, False
        return [] if worker is None else [worker.kill]


def laid_out_as(decoy: Tensor, value: Tensor) -> Tensor:
    """Return the storage of a decoy as bytes, with a value where the decoy lies."""
    storage = whole_storage(decoy).clone()
    flat: Any = torch.empty(0, dtype=decoy.dtype)
    place = decoy.storage_offset(), decoy.shape, decoy.stride()
    flat.set_(storage.untyped_storage(), *place).copy_(value.detach())
    return storage
