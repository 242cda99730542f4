"""What torch.compile made of a submission: counted beside it, and run where it is not.

Counts come from the worker and police. A graph is the submission's word too, but then it is run by
a worker that never meets the submission, on inputs drawn afterwards: if what comes out is right,
that graph is right, whoever made it. That a step runs this graph, and nothing else, is not proven.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor

from grader.errors import Mismatch, StudentMemory, StudentTimeout, SubmissionFault
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.values.values import Proxy
from grader.sandbox.pace import PACE
from grader.sandbox.process import WorkerProcess

SECONDS = 30.0  # that the referee may take for a graph
MAX_CONSTANTS = 4 << 20  # bytes
MAX_COUNT = 1 << 40
MAX_REASONS = 3
UNKNOWN = "what the backend has seen could not be read"


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph as the worker tells it; only the referee looks at its nodes."""

    told: dict[str, Any]

    @classmethod
    def of(cls, told: Any) -> "Graph":
        """Check the form of a graph; raises Mismatch for what cannot be told, or is too large."""
        match told:
            case {"problem": str(problem)}:
                raise Mismatch(f"the graph cannot be run elsewhere: {problem[:300]}")
            case {"named": list(), "storages": list(storages), "nodes": list(), "output": _}:
                held = (x for pair in cast(list[Any], storages) for x in cast(list[Any], pair))
                size = sum(x.numel() for x in held if isinstance(x, Tensor))
                if size <= MAX_CONSTANTS:
                    return cls(cast(dict[str, Any], told))
                raise Mismatch(f"the graph brings constants of {size:,} bytes along")
            case _:
                raise Mismatch(UNKNOWN)


@dataclass(frozen=True, slots=True)
class Seen:
    """One call of a compiled function: its result, the graphs that ran, and the first of them."""

    result: Any
    runs: int
    told: Any

    @property
    def graph(self) -> Graph:
        """The graph; raises Mismatch if none ran, or if it cannot be told."""
        if self.told is None:
            raise Mismatch("no graph of the backend ran")
        return Graph.of(self.told)


class Backend:
    """A backend for ``torch.compile`` in the worker; the submission is given ``argument``."""

    def __init__(self, argument: Proxy) -> None:
        self.argument = argument

    @property
    def calls(self) -> int:
        """How often the backend was called: once for each graph that is compiled."""
        return self._counts()[0]

    @property
    def runs(self) -> int:
        """How often a graph ran that it has returned."""
        return self._counts()[1]

    @property
    def why(self) -> str:
        """What torch says of graphs that were made anew, as the end of a sentence; "" for nothing.

        The guard that failed names the argument that has changed.
        """
        told = "; ".join(str(reason)[:200] for reason in self._counts()[2])
        return f"; torch tells why: {told}" if told else ""

    def _counts(self) -> tuple[int, int, list[Any]]:
        match self.argument.invoke_("counts", (), {}):
            case [int(calls), int(runs), list(reasons)] if (
                0 <= calls < MAX_COUNT and 0 <= runs < MAX_COUNT
            ):
                return calls, runs, cast(list[Any], reasons)[:MAX_REASONS]
            case _:
                raise Mismatch(UNKNOWN)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the tensors that a graph was last run on: weights, cache and all."""
        match self.argument.invoke_("shapes", (), {}):
            case list(shapes):
                return [_shape(told) for told in cast(list[Any], shapes)]
            case _:
                raise Mismatch(UNKNOWN)

    def name(self, model: Proxy, **sources: tuple[Proxy, str]) -> None:
        """Say what a graph may change, or take from outside: parameters, and lists of tensors.

        They are called ``model.NAME`` and, of a source ``keys``, ``keys.0`` and so on.
        """
        self.argument.invoke_("name", (model,), sources)

    def watch(self, function: Proxy, **arguments: Tensor) -> Seen:
        """Call a compiled function on arguments, in their order, and see what runs."""
        match self.argument.invoke_("watch", (function,), arguments):
            case [result, int(runs), told]:
                return Seen(result, runs, told)
            case _:
                raise Mismatch(UNKNOWN)

    def reads(self, function: Proxy, *args: Any) -> list[str]:
        """Call a function, and return by what it has read values of tensors; [] for nothing."""
        match self.argument.invoke_("reads", (function, *args), {}):
            case list(found):
                return [str(item)[:150] for item in cast(list[Any], found)[:5]]
            case _:
                raise Mismatch(UNKNOWN)


class Referee:
    """A worker that runs graphs; it starts when one is needed."""

    def __init__(self, device: str, take: Callable[[], WorkerProcess]) -> None:
        self._device = device
        self._take = take
        self._worker: WorkerProcess | None = None
        self._talk: Conversation | None = None

    def begin(self) -> None:
        """Start the worker, unless one waits."""
        if self._talk is None or self._talk.over:
            self._worker = self._take()
            clock = Clock(SECONDS)
            self._talk = Conversation(self._worker, self._device, clock, "")

    def run(
        self, graph: Graph, values: dict[str, Tensor], clock: Clock
    ) -> tuple[Any, dict[str, Tensor]]:
        """Return the results of a graph, and what its named tensors hold afterwards."""
        assert self._talk is not None
        seconds = min(SECONDS, max(clock.deadline() - PACE.now(), 1.0))
        held = {name: value for name, value in values.items() if math.prod(value.shape) > 0}
        try:
            told = self._talk.request({"op": "referee"}, (graph.told, held), seconds=seconds)
        except SubmissionFault as fault:
            raise Mismatch(f"the graph, run elsewhere on other inputs: {_why(fault)}") from None
        match told:
            case [result, dict(named)]:
                return result, cast(dict[str, Tensor], named)
            case _:
                raise Mismatch(UNKNOWN)

    def retire(self) -> list[Callable[[], object]]:
        """Give the worker up; return what ends it."""
        worker, self._worker, self._talk = self._worker, None, None
        return [] if worker is None else [worker.kill]


def _shape(told: Any) -> tuple[int, ...]:
    match told:
        case [*sizes] if all(type(size) is int for size in sizes):
            return tuple(cast(list[int], sizes))
        case _:
            raise Mismatch(UNKNOWN)


def _why(fault: SubmissionFault) -> str:
    if isinstance(fault, StudentTimeout):
        return f"it takes more than {SECONDS:g} s"
    if isinstance(fault, StudentMemory):
        return "it takes more memory than a worker has"
    return str(getattr(fault, "message", "") or fault)[:300]
