"""The tensors that a launch was given: which addresses are theirs, and which element lies where.

Views of one storage share a ``Region``, from the first byte that any of them has to the last. An
element is of the size of the smallest that a view or a kernel has named so far.
"""

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

HOLE = -1  # the state of memory between the elements of views
MOST = 1 << 28  # elements of a region that is followed; a larger one has its bounds alone


@dataclass(slots=True, frozen=True)
class Argument:
    """A tensor and the name by which the kernel knows it."""

    name: str
    tensor: Tensor

    @property
    def start(self) -> int:
        """The address of the first element: torch has no negative strides."""
        return self.tensor.data_ptr()

    @property
    def end(self) -> int:
        """The address behind the last element."""
        pairs = zip(self.tensor.shape, self.tensor.stride(), strict=True)
        last = sum((size - 1) * stride for size, stride in pairs)
        return self.start + (last + 1) * self.tensor.element_size()

    @property
    def dense(self) -> bool:
        """Whether each byte from start to end belongs to an element."""
        expected = 1
        axes = zip(self.tensor.stride(), self.tensor.shape, strict=True)
        for stride, size in sorted(axis for axis in axes if axis[1] > 1 and axis[0]):
            if stride > expected:
                return False
            expected = max(expected, stride * size)
        return True

    def index_of(self, address: int) -> tuple[int, ...] | None:
        """Return the index of an element at an address, if there is one."""
        rest = (address - self.start) // self.tensor.element_size()
        if not self.start <= address < self.end:
            return None
        index = [0] * self.tensor.dim()
        axes = range(self.tensor.dim())
        for axis in sorted(axes, key=lambda axis: -self.tensor.stride(axis)):
            if self.tensor.stride(axis):
                at = min(rest // self.tensor.stride(axis), self.tensor.shape[axis] - 1)
                index[axis], rest = at, rest - at * self.tensor.stride(axis)
        return None if rest else tuple(index)


class Region:
    """What a launch may touch of one storage, with a number and a sign of order an element."""

    def __init__(self, arguments: list[Argument]) -> None:
        self.arguments = arguments
        self.start = min(argument.start for argument in arguments)
        self.end = max(argument.end for argument in arguments)
        self.unit = min(argument.tensor.element_size() for argument in arguments)
        self.unwritten: Any = None  # numpy's truths a byte, or nothing to know
        self.memory: Any = None  # numpy's bytes, with those truths
        self.holes = not any(
            a.dense and a.start == self.start and a.end == self.end for a in arguments
        )
        self.followed = len(self) <= MOST
        self.state: Any = None
        self.signs: Any = None  # of the atomics that released, made when one does
        if self.followed:
            self.state = self._blank()

    def __len__(self) -> int:
        return (self.end - self.start) // self.unit

    def _blank(self) -> Any:
        if not self.holes:
            return np.zeros(len(self), np.int64)
        state = torch.full((len(self),), HOLE, dtype=torch.int64)
        for argument in self.arguments:
            tensor, wide = argument.tensor, argument.tensor.element_size() // self.unit
            strides = [stride * wide for stride in tensor.stride()]
            first = (argument.start - self.start) // self.unit
            state.as_strided((*tensor.shape, wide), (*strides, 1), first).fill_(0)
        return state.numpy()

    def refine(self, size: int) -> None:
        """Let elements be of ``size`` bytes from now on."""
        times = self.unit // size
        self.unit = size
        self.state = np.repeat(self.state, times)
        if self.signs is not None:
            self.signs = np.repeat(self.signs, times)

    def sign(self) -> Any:
        """Return the signs of atomics."""
        if self.signs is None:
            self.signs = np.zeros(len(self), np.int32)
        return self.signs

    def element(self, address: int) -> tuple[str, tuple[int, ...] | None]:
        """Return the name and the index of what lies at an address."""
        for argument in self.arguments:
            index = argument.index_of(address)
            if index is not None:
                return argument.name, index
        first = self.arguments[0]
        return first.name, ((address - first.start) // first.tensor.element_size(),)


class Passed:
    """The regions of one launch, in the order of their addresses."""

    def __init__(self, arguments: list[Argument]) -> None:
        storages: dict[int, list[Argument]] = {}
        for argument in arguments:
            if argument.tensor.numel():
                key = argument.tensor.untyped_storage().data_ptr()
                storages.setdefault(key, []).append(argument)
        self.regions = sorted(map(Region, storages.values()), key=lambda region: region.start)
        self._starts = [region.start for region in self.regions]

    def add(self, argument: Argument) -> Region | None:
        """Take in a tensor that a kernel has reached by its address, if it overlaps no other."""
        region = Region([argument])
        if any(old.start < region.end and region.start < old.end for old in self.regions):
            return None
        at = bisect.bisect_left(self._starts, region.start)
        self.regions.insert(at, region)
        self._starts.insert(at, region.start)
        return region

    def around(self, address: int) -> Region | None:
        """Return the region in which an address lies."""
        at = bisect.bisect_right(self._starts, address) - 1
        region = self.regions[at] if at >= 0 else None
        return region if region is not None and address < region.end else None

    def nearest(self, address: int) -> tuple[str, int] | None:
        """Return the tensor closest to an address, and the address' offset in its elements."""
        arguments = [argument for region in self.regions for argument in region.arguments]
        if not arguments:
            return None

        def distance(argument: Argument) -> int:
            return max(argument.start - address, address - argument.end + 1, 0)

        closest = min(arguments, key=distance)
        return closest.name, (address - closest.start) // closest.tensor.element_size()


def named(name: str, value: Any) -> Iterator[Argument]:
    """Walk through the tensors of an argument, in wrappers, tuples and descriptors too."""
    if isinstance(value, tuple | list):
        for place, item in enumerate(value):
            yield from named(f"{name}[{place}]", item)
    elif isinstance(value, Tensor):
        yield Argument(name, value)
    elif isinstance(base := getattr(value, "base", None), Tensor):
        yield Argument(name, base)
