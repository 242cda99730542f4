"""What was recorded of some launches, as frozen data; ``read`` refuses what has another form."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.errors import InferlabError

HIDDEN, OUTSIDE, ELSEWHERE = -1, -2, -3  # lanes, as grader/worker/scripts/tracer.py writes them


@dataclass(frozen=True, slots=True)
class Touchable:
    """A tensor that a launch was given."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    @property
    def columns(self) -> int:
        """The size of the last axis; 1 for a single number."""
        return self.shape[-1] if self.shape else 1

    @property
    def rows(self) -> int:
        """The size of all other axes together."""
        return math.prod(self.shape[:-1])

    def index(self, element: int) -> tuple[int, ...]:
        """Return the index of an element by its number."""
        found: list[int] = []
        for size in reversed(self.shape):
            element, at = divmod(element, max(size, 1))
            found.insert(0, at)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Step:
    """One access: the lanes of one operation of one program, in one tensor."""

    program: tuple[int, ...]
    line: int  # of the kernel
    inner: int  # of a function that the kernel calls there; else the same
    kind: str  # "load", "store", "atomic_add" …
    tensor: int | None
    shape: tuple[int, ...]  # of the block
    lanes: tuple[int, ...]  # the number of an element, or HIDDEN, OUTSIDE, ELSEWHERE; cut if long
    hidden: int
    outside: int
    values: tuple[str, ...]  # of the lanes; empty for a large block

    @property
    def count(self) -> int:
        """How many lanes the block has."""
        return math.prod(self.shape)

    @property
    def elements(self) -> list[int]:
        """The elements that it touches, each once, in their order."""
        return sorted({lane for lane in self.lanes if lane >= 0})


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a kernel."""

    kernel: str
    first: int  # the line of ``source[0]``
    source: tuple[str, ...]
    grid: tuple[int, ...]
    arguments: tuple[tuple[str, str], ...]  # those that are no tensors
    tensors: tuple[Touchable, ...]
    steps: tuple[Step, ...]
    more: int  # steps that were not recorded

    @property
    def programs(self) -> list[tuple[int, ...]]:
        """The programs that touched something, in the order in which they ran."""
        return list(dict.fromkeys(step.program for step in self.steps))

    def code(self, line: int) -> str:
        """Return a line of the kernel without its indent; "" if it lies elsewhere."""
        at = line - self.first
        return self.source[at].strip() if 0 <= at < len(self.source) else ""


@dataclass(frozen=True, slots=True)
class Fault:
    """What the code raised."""

    kind: str
    message: str
    line: int  # the innermost of the file that led there; 0: none did
    program: tuple[int, ...]  # of the kernel that it ended; () for code outside


@dataclass(frozen=True, slots=True)
class Trace:
    """All launches of a call, and how it ended."""

    launches: tuple[Launch, ...]
    more: int  # launches that were not recorded
    fault: Fault | None


def read(data: Any) -> Trace:
    """Return a record of ``grader/worker/scripts/traced.py``; ``InferlabError`` if it is none."""
    try:
        fault = data["fault"]
        return Trace(
            tuple(_launch(item) for item in data["launches"]),
            int(data["more"]),
            None if fault is None else _fault(fault),
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InferlabError(f"the record of the kernels has another form ({error})") from None


def _launch(data: Mapping[str, Any]) -> Launch:
    tensors = tuple(
        Touchable(
            str(item["name"]), _sizes(item["shape"]), _sizes(item["strides"]), str(item["dtype"])
        )
        for item in data["tensors"]
    )
    return Launch(
        kernel=str(data["kernel"]),
        first=int(data["first"]),
        source=tuple(map(str, data["source"])),
        grid=_sizes(data["grid"]),
        arguments=tuple((str(name), str(value)) for name, value in data["arguments"]),
        tensors=tensors,
        steps=tuple(_step(item, tensors) for item in data["steps"]),
        more=int(data["more"]),
    )


def _step(data: Mapping[str, Any], tensors: Sequence[Touchable]) -> Step:
    number = data["tensor"]
    lanes = tuple(map(int, data["lanes"]))
    most = math.prod(tensors[number].shape) if number is not None else 0
    if any(not ELSEWHERE <= lane < most for lane in lanes):
        raise ValueError("a lane of no element")
    return Step(
        program=_sizes(data["program"]),
        line=int(data["line"]),
        inner=int(data["inner"]),
        kind=str(data["kind"]),
        tensor=None if number is None else int(number),
        shape=_sizes(data["shape"]),
        lanes=lanes,
        hidden=int(data["hidden"]),
        outside=int(data["outside"]),
        values=tuple(map(str, data.get("values", ()))),
    )


def _fault(data: Mapping[str, Any]) -> Fault:
    frames = data["frames"]
    line = int(frames[-1][0]) if frames else 0
    return Fault(str(data["kind"]), str(data["message"]), line, _sizes(data["program"] or ()))


def _sizes(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
