"""Run a graph that a submission has told, in a worker that never meets the submission.

Memory is filled with what the judge sends, so a graph that is right here depends on nothing else.
Operators are those of a list, and draw nothing; sizes are found out with tensors that have no
memory, before any operator runs. What does not fit raises ``Refused``, whose text says what.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_flatten

from grader.worker.compiling.graphs import MAX_NODES
from grader.worker.operators.admitted import RANDOM, is_admitted

MAX_ELEMENTS = 1 << 22  # of one tensor
MAX_MADE = 1 << 27  # of all tensors that the operators of a graph make
MAX_BYTES = 1 << 26  # of one memory


class Refused(ValueError):
    """A graph that is not run, or not to its end."""


class Referee:
    """Runs graphs on memory of its own."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def run(self, graph: dict[str, Any], values: dict[str, Tensor]) -> list[Any]:
        """Return the results, and what all named tensors hold afterwards, by their names.

        ``values`` are those of named tensors; others are zeros.
        """
        nodes = graph["nodes"]
        if len(nodes) > MAX_NODES:
            raise Refused(f"it has {len(nodes):,} nodes; {MAX_NODES:,} are allowed")
        with torch.no_grad(), torch.device(self._device):
            operators = [operator_of(name) for name, _, _ in nodes]
            with FakeTensorMode() as fake:
                self._play(graph, operators, fake, {})
            return self._play(graph, operators, None, values)

    def _play(
        self,
        graph: dict[str, Any],
        operators: list[Any],
        fake: FakeTensorMode | None,
        values: dict[str, Tensor],
    ) -> list[Any]:
        storages = [self._memory(size, held, fake) for size, held in graph["storages"]]
        named = {name: view(storages, *form) for name, *form in graph["named"]}
        for name in named.keys() & values.keys():
            named[name].copy_(values[name])
        made: list[Any] = []
        total = 0
        for (name, args, kwargs), operator in zip(graph["nodes"], operators, strict=True):
            if operator is None:
                made.append(view(storages, *args) if len(args) > 1 else args[0])
                continue
            args, kwargs = rebuilt(args, made), rebuilt(kwargs, made)
            made.append(performed(name, operator, args, kwargs))
            if fake is not None and operator is not getitem:
                total += measured(name, made[-1])
                if total > MAX_MADE:
                    raise Refused(f"its tensors have more than {MAX_MADE:,} elements")
        return [rebuilt(graph["output"], made), {name: fresh(x) for name, x in named.items()}]

    def _memory(self, size: int, held: Tensor | None, fake: FakeTensorMode | None) -> Tensor:
        if not 0 <= size <= MAX_BYTES:
            raise Refused(f"a tensor of it lies in {size:,} bytes; {MAX_BYTES:,} are allowed")
        if held is not None and fake is None:
            return held.clone()
        return torch.zeros(size, dtype=torch.uint8)


def operator_of(name: str) -> Any:
    """Return an operator by its full name, None for an input; raises Refused."""
    if name == "input":
        return None
    if name == "getitem":
        return getitem
    match name.split("."):
        case ["aten", base, overload] if is_admitted(base) and base.strip("_") not in RANDOM:
            packet = getattr(torch.ops.aten, base, None)
            if packet is not None and overload in packet.overloads():
                return getattr(packet, overload)
        case _:
            pass
    raise Refused(f"it calls {name}, which is none of the operators that are run here")


def getitem(values: Any, place: int) -> Any:
    """Return one of several results."""
    return values[place]


def performed(name: str, operator: Any, args: Any, kwargs: Any) -> Any:
    """Return what an operator gives; raises Refused if it fails."""
    try:
        return operator(*args, **kwargs)
    except Exception as error:  # torch's, of any kind
        text = str(error).strip().splitlines() or [type(error).__name__]
        raise Refused(f"{name} fails on new inputs: {text[0][:200]}") from None


def measured(name: str, result: Any) -> int:
    """Return how many elements were made; raises Refused for too many."""
    counts = [x.numel() for x in tree_flatten(result)[0] if isinstance(x, Tensor)]
    if max(counts, default=0) > MAX_ELEMENTS:
        text = f"{name} makes a tensor of {max(counts):,} elements"
        raise Refused(f"{text}; {MAX_ELEMENTS:,} are allowed")
    return sum(counts)


def view(storages: list[Tensor], place: int, dtype: torch.dtype, *form: Any) -> Tensor:
    """Return the tensor that lies in a memory in this way; raises Refused where none can."""
    shape, strides, offset = form
    memory = storages[place]
    whole = memory[: memory.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    ends = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if 0 in shape:
        return whole.new_empty(shape)
    if min([*shape, *strides, offset]) < 0 or ends >= whole.numel():
        raise Refused("a tensor of it does not lie in its memory")
    if math.prod(shape) > MAX_ELEMENTS:
        raise Refused(f"a tensor of it has {math.prod(shape):,} elements")
    return whole.as_strided(shape, strides, offset)


def rebuilt(value: Any, made: list[Any]) -> Any:
    """Return an argument, with results of earlier nodes in their places."""
    match value:
        case {"node": int(number)}:
            return made[number]
        case {"layout": str(name)} | {"memory_format": str(name)}:
            return getattr(torch, name)
        case dict():
            return {key: rebuilt(item, made) for key, item in value.items()}
        case list():
            return [rebuilt(item, made) for item in value]
        case _:
            return value


def fresh(x: Tensor) -> Tensor:
    """Return a copy, one row behind the other."""
    return x.clone(memory_format=torch.contiguous_format)
