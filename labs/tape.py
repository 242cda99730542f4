"""Given code for lab 11: a CUDA graph, and on a CPU a tape that behaves as one.

A graph is captured once and replayed often. A capture notes which operators run, with the memory
that each reads and writes; a replay runs these operators on this memory, in this order, and no
Python of yours.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

# An operator, its arguments, and for each tensor that it returns the one to copy it to, if any.
_Call = tuple[Any, Any, dict[str, Any], list[Tensor | None]]


class Tape:
    """One graph. As on a GPU a capture writes to no memory that was there before it.

    What an operator of the capture returns has its shape at once and its values with the first
    ``replay``: till then floating-point numbers are NaN. A result that Python reads, as ``item``
    does, or whose shape depends on values raises RuntimeError in a capture.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._done = False
        self.replays = 0

    @contextmanager
    def capture(self) -> Generator[None, None, None]:
        """Note the operators of the block; RuntimeError for a second capture."""
        if self._done or self._calls:
            raise RuntimeError("a graph is captured once: make another")
        try:
            with torch.no_grad(), _Refusing(), _Noting(self._calls) as noting:
                yield
        except BaseException:
            self._calls.clear()
            raise
        for tensor in noting.made:
            if tensor.is_floating_point():
                tensor.fill_(torch.nan)
        self._done = True

    @torch.no_grad()
    def replay(self) -> None:
        """Run what was captured again, on the same memory; RuntimeError before a capture."""
        if not self._done:
            raise RuntimeError("nothing was captured")
        for operator, args, kwargs, kept in self._calls:
            for tensor, target in zip(_tensors(operator(*args, **kwargs)), kept, strict=True):
                if target is not None:
                    target.copy_(tensor)
        self.replays += 1


class CudaGraph:
    """``torch.cuda.CUDAGraph`` under the names of ``Tape``; warm up on a side stream first."""

    def __init__(self) -> None:
        self._graph = torch.cuda.CUDAGraph()
        self.replays = 0

    @contextmanager
    def capture(self) -> Generator[None, None, None]:
        """Capture the block on a stream of its own."""
        with torch.no_grad(), torch.cuda.graph(self._graph):
            yield

    def replay(self) -> None:
        """Launch what was captured."""
        self._graph.replay()
        self.replays += 1


def make_graph_for(device: str | torch.device) -> Callable[[], Tape | CudaGraph]:
    """Return what makes a graph for a device: pass it as ``make_graph``."""
    return CudaGraph if torch.device(device).type == "cuda" else Tape


class _Noting(TorchDispatchMode):
    """Notes each operator below autograd, where all that is left of Python are plain numbers."""

    def __init__(self, calls: list[_Call]) -> None:
        super().__init__()
        self._calls = calls
        self._own: set[int] = set()  # memory that was made in this capture
        self.made: list[Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if _reads(func, args):
            raise RuntimeError(f"{func} reads values, which a captured graph cannot do")
        if torch.Tag.inplace_view in func.tags:  # changes what Python knows of a tensor, no memory
            return func(*args, **kwargs)
        written = _written(func, args, kwargs)
        copies = [x.clone() for x in written if _memory(x) not in self._own]
        there = [x for x in written if _memory(x) not in self._own]
        to_copy = {id(x): copy for x, copy in zip(there, copies, strict=True)}
        spared = tree_map_only(Tensor, lambda x: to_copy.get(id(x), x), (args, kwargs))
        result = func(*spared[0], **spared[1])
        back = {id(copy): x for x, copy in zip(there, copies, strict=True)}
        result = tree_map_only(Tensor, lambda x: back.get(id(x), x), result)
        self._note(func, args, kwargs, result, writes=bool(written))
        return result

    def _note(self, func: Any, args: Any, kwargs: Any, result: Any, *, writes: bool) -> None:
        given = {_memory(x) for x in _tensors((args, kwargs))}
        kept = [None if _memory(x) in given else x for x in _tensors(result)]
        fresh = [x for x in kept if x is not None]
        self._own.update(_memory(x) for x in fresh)
        self.made += fresh
        if fresh or writes:  # a view needs no replay: it is where it was
            # What changes a tensor's shape in place, as unsqueeze_ does, is not to change these.
            noted = tree_map_only(Tensor, Tensor.detach, (args, kwargs, kept))
            self._calls.append((func, *noted))


class _Refusing(TorchFunctionMode):
    """Refuses what reads a tensor without an operator."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (Tensor.tolist, Tensor.numpy, Tensor.__array__):
            raise RuntimeError(f"{func.__name__} reads values, which a captured graph cannot do")
        return func(*args, **kwargs or {})


def _reads(func: Any, args: Any) -> bool:
    """Tell whether what an operator returns cannot be known, or shaped, without values."""
    if func is torch.ops.aten.index.Tensor:  # a mask as index asks how many are True
        return any(index is not None and index.dtype == torch.bool for index in args[1])
    return not {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}.isdisjoint(
        func.tags
    )


def _written(func: Any, args: Any, kwargs: dict[str, Any]) -> list[Tensor]:
    """Return the arguments that an operator writes to."""
    found: list[Any] = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found.append(args[place] if place < len(args) else kwargs.get(argument.name))
    return _tensors(found)


def _tensors(value: Any) -> list[Tensor]:
    return [item for item in tree_flatten(value)[0] if isinstance(item, Tensor)]


def _memory(tensor: Tensor) -> int:
    """Return what tells the memory of a tensor, and of all its views, from any other."""
    return tensor.untyped_storage()._cdata  # pyright: ignore[reportPrivateUsage]
