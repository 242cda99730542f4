"""The storages of a device, by the numbers that they go by, and who may know what is in them."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.wire.codec import DTYPES
from grader.wire.errors import WireError
from grader.wire.storage import whole_storage

MAX_DIMS = 16
MOST_BYTES = 1 << 30  # of all storages


@dataclass(slots=True, eq=False)
class Region:
    """A storage. ``secret``: it is not what the submission's worker has in its place."""

    bytes: Tensor
    secret: bool = False
    given: bool = False  # it holds numbers of an argument, moved at most

    def hide(self) -> None:
        """Let it be an argument."""
        self.secret = self.given = True

    @property
    def start(self) -> int:
        """The address of its first byte."""
        return self.bytes.data_ptr()

    @property
    def end(self) -> int:
        """The first address beyond it."""
        return self.start + len(self.bytes)


class Memory:
    """The regions of one watch."""

    def __init__(self) -> None:
        self._regions: dict[int, Region] = {}
        self._by_start: dict[int, Region] = {}
        self._bytes = 0

    def add(self, number: int, value: Tensor) -> Region:
        """Take a storage, by a number of its own."""
        return self._put(number, whole_storage(value))

    def take_plain(self, number: int, data: Tensor) -> None:
        """Take what the submission's worker has; of a secret it has nothing to tell."""
        known = self._regions.get(number)
        if known is None:
            self._put(number, data)
        elif not known.secret and len(known.bytes) == len(data):
            known.bytes.copy_(data)

    def _put(self, number: int, data: Tensor) -> Region:
        self._bytes += len(data)
        if number in self._regions or self._bytes > MOST_BYTES:
            raise MemoryError("more storages than there is room for")
        # What numpy lends cannot be resized: a storage stays where it is.
        region = self._regions[number] = Region(torch.from_numpy(data.numpy()))
        self._by_start[region.start] = region
        return region

    def make(self, layout: list[Any]) -> Tensor:
        """Return a new tensor of this layout, of a storage of its own."""
        *place, size = layout
        if type(size) is not int or not 0 <= size <= MOST_BYTES:
            raise WireError("a malformed size")
        self._put(place[0], torch.zeros(size, dtype=torch.uint8))
        return self.tensor(place)

    def tensor(self, layout: list[Any]) -> Tensor:
        """Return the tensor at a place; raises WireError if there is none."""
        number, offset, dtype, shape, strides = layout
        region, kind = self._regions.get(number), DTYPES.get(dtype)
        plain = isinstance(shape, list) and isinstance(strides, list) and type(offset) is int
        if region is None or kind is None or not plain or len(shape) != len(strides):
            raise WireError("a malformed tensor")
        numbers = [*shape, *strides, offset]
        if len(shape) > MAX_DIMS or any(type(n) is not int or n < 0 for n in numbers):
            raise WireError("a malformed tensor")
        last = sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
        end = offset + (last + 1) * kind.itemsize
        if offset % kind.itemsize or (math.prod(shape) and end > len(region.bytes)):
            raise WireError("a tensor outside of its storage")
        flat: Any = torch.empty(0, dtype=kind)
        return flat.set_(region.bytes.untyped_storage(), offset // kind.itemsize, shape, strides)

    def regions(self, tensors: Iterable[Any]) -> list[Region]:
        """Return the regions in which tensors lie."""
        starts = (tensor.untyped_storage().data_ptr() for tensor in tensors)
        return [self._by_start[start] for start in starts if start in self._by_start]

    def around(self, addresses: Any, size: int) -> Iterator[tuple[Region | None, Any]]:
        """Yield the regions that hold elements of ``size`` bytes, each with which of them.

        Last comes None, with the rest.
        """
        left = np.ones(addresses.shape, bool)
        if addresses.size:
            low, high = int(addresses.min()), int(addresses.max())
            for region in self._regions.values():
                if high < region.start or low >= region.end:
                    continue
                here = (addresses >= region.start) & (addresses + np.uint64(size) <= region.end)
                if here.any():
                    left &= ~here
                    yield region, here
                if not left.any():
                    return
        yield None, left
