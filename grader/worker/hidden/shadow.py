"""Memory that kernels see in the place of what Python sees: a double of each storage they touch.

While a kernel runs, what Python sees and its double are exchanged. Doubles are plain bytes outside
of torch, and their storages are kept: no address is used twice.
"""

import bisect
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.wire.storage import odd_tensor, whole_storage

SLACK = 64  # bytes after a double: a lane at its edge may read beyond


@dataclass(slots=True, eq=False)
class Region:
    """A storage and its double."""

    start: int
    double: Any  # numpy's bytes; on a GPU torch's
    storage: torch.UntypedStorage
    hidden: bool = False  # an argument: Python sees decoys
    given: bool = False  # it holds numbers of an argument, moved at most
    written: bool = False  # the double may differ

    @property
    def end(self) -> int:
        """The first address beyond the storage."""
        return self.start + len(self.double) - SLACK

    @property
    def plain(self) -> Tensor:
        """The bytes that Python sees."""
        flat: Any = torch.empty(0, dtype=torch.uint8, device=self.storage.device)
        return flat.set_(self.storage)

    @property
    def bytes(self) -> Tensor:
        """The bytes of the double."""
        size = len(self.double) - SLACK
        return torch.as_tensor(self.double)[:size]


class Shadow:
    """The regions of one probe."""

    def __init__(self) -> None:
        self._regions: list[Region] = []  # in the order of their addresses
        self._starts: list[int] = []
        self._covers: list[tuple[Region, Tensor]] = []  # what Python sees else, while a kernel runs

    def hide(self, true: Tensor, seen: Tensor) -> None:
        """Let kernels find ``true`` where ``seen`` lies, and wipe the memory of the former."""
        region = self.know(seen)
        region.hidden = region.given = region.written = True
        self.view(seen).copy_(true)
        whole_storage(true).zero_()

    def find(self, tensor: Tensor) -> Region | None:
        """Return the region in which a tensor's storage lies, if it has a double."""
        if odd_tensor(tensor):
            return None
        storage = tensor.untyped_storage()
        region = self._around(storage.data_ptr())
        inside = region is not None and storage.data_ptr() + storage.nbytes() <= region.end
        return region if inside else None

    def know(self, tensor: Tensor) -> Region:
        """Return the region of a tensor's storage; one that is new begins as Python sees it."""
        found = self.find(tensor)
        if found is not None:
            return found
        plain = whole_storage(tensor)
        if tensor.device.type == "cpu":
            double: Any = np.zeros(len(plain) + SLACK, np.uint8)
            double[: len(plain)] = plain.numpy()
        else:
            double = torch.cat((plain, plain.new_zeros(SLACK)))
        region = Region(tensor.untyped_storage().data_ptr(), double, tensor.untyped_storage())
        at = bisect.bisect_left(self._starts, region.start)
        if at < len(self._starts) and self._starts[at] == region.start:  # it was resized
            self._regions[at] = region
        else:
            self._starts.insert(at, region.start)
            self._regions.insert(at, region)
        return region

    def view(self, tensor: Tensor) -> Tensor:
        """Return what kernels see of a tensor that is known."""
        region = self.know(tensor)
        first = tensor.untyped_storage().data_ptr() - region.start
        offset = tensor.storage_offset()
        if tensor.device.type == "cpu":
            storage = torch.from_numpy(region.double[first:]).untyped_storage()
        else:
            storage = region.double.untyped_storage()
            offset += first // tensor.element_size()
        layout: Any = storage, offset, tensor.shape, tensor.stride()
        return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(*layout)

    def refresh(self, tensor: Tensor) -> None:
        """Know a tensor, and take what has come into its memory unseen, if it is Python's alone."""
        if not self.know(tensor).written:
            self.take_plain(tensor)

    def take_plain(self, tensor: Tensor) -> None:
        """Let kernels see of a tensor that is known what Python sees."""
        self.view(tensor).copy_(tensor)

    def settle(self) -> None:
        """Let Python see what kernels have written, but to arguments."""
        for region in self._regions:
            if region.written and not region.hidden:
                region.plain.copy_(region.bytes)

    def uncover(self) -> None:
        """Put what kernels see to where Python sees, until ``cover``."""
        for region in self._regions:
            plain = region.plain
            self._covers.append((region, plain.clone()))
            plain.copy_(region.bytes)

    def cover(self) -> None:
        """Keep what a kernel has left there, and let Python see again what it saw."""
        for region, seen in self._covers:
            plain, double = region.plain, region.bytes
            if not torch.equal(plain, double):
                double.copy_(plain)
                region.written, region.given = True, False
            plain.copy_(seen)
        self._covers.clear()

    def _around(self, address: int) -> Region | None:
        at = bisect.bisect_right(self._starts, address) - 1
        region = self._regions[at] if at >= 0 else None
        return region if region is not None and address < region.end else None
