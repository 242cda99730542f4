"""Where the lanes of an operation point to: in which tensor, or in none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from grader.wire.storage import whole_storage
from grader.worker.sanitizer.arguments import Argument, Passed, Region
from grader.worker.sanitizer.races import Access


@dataclass(slots=True)
class Lanes:
    """The addresses of an operation, and its mask."""

    addresses: Any  # of the lanes that the mask lets through
    given: Any  # of all lanes
    mask: Any  # None where it lets all through
    hidden: Any  # the lanes that it does not, or None

    def spread(self, chosen: Any) -> Any:
        """Return truths of the lanes let through as truths of all lanes."""
        out = np.zeros(self.given.shape, bool)
        if self.mask is None:
            return chosen.reshape(self.given.shape)
        out[self.mask] = chosen
        return out

    def of(self, values: Any) -> Any:
        """Return the values of the lanes that the mask lets through."""
        if values.shape != self.given.shape:
            values = np.broadcast_to(values, self.given.shape)
        return values.ravel() if self.mask is None else values[self.mask]


def lanes_of(ptrs: Any, mask: Any) -> Lanes:
    """Return the lanes of an operation."""
    given = vars(ptrs)["data"]
    # Triton 3.6 gives the mask of a descriptor's block as it is, without a handle.
    plain = mask is None or type(mask) is np.ndarray
    lets = mask if plain else vars(mask)["data"]
    if lets is None or lets.all():
        return Lanes(given.ravel(), given, None, None)
    if lets.shape != given.shape:
        lets = np.broadcast_to(lets, given.shape)
    return Lanes(given[lets], given, lets, ~lets)


class Addresses:
    """Those that a launch may use."""

    def __init__(
        self,
        given: list[Argument],
        blank: Callable[[Tensor], Any],
        reach: Callable[[int], Tensor | None],
    ) -> None:
        self.passed = Passed(given)
        self._blank = blank  # of a tensor, the bytes that nobody has written
        self._reach = reach  # of an address that was passed as a number, the tensor
        for region in self.passed.regions:
            self._know(region)

    def _know(self, region: Region) -> None:
        tensor = region.arguments[0].tensor
        truths = self._blank(tensor)
        if truths is not None:
            first = region.start - tensor.untyped_storage().data_ptr()
            end = region.end - tensor.untyped_storage().data_ptr()
            region.unwritten = truths[first:end]
            region.memory = whole_storage(tensor).numpy()[first:end]

    def parts(self, lanes: Lanes, size: int, line: int) -> tuple[list[Access], Any]:
        """Divide lanes by regions; return the truths of which lie in one too, if not all do."""
        addresses = lanes.addresses
        if not addresses.size:
            return [], None
        low, high = int(addresses.min()), int(addresses.max())
        region = self.passed.around(low)
        if region is not None and high + size <= region.end and not region.holes:
            if not region.followed:
                return [], None
            return [self._access(region, addresses, None, size, line, low, high)], None
        accesses: list[Access] = []
        seen = np.zeros(len(addresses), bool)
        for region in [*self.passed.regions, *self._reached(low, high)]:
            here = (addresses >= region.start) & (addresses <= region.end - size)
            if region.followed and region.holes and here.any():
                numbers = ((addresses[here] - region.start) // region.unit).astype(np.int64)
                here[here] = region.state[numbers] >= 0
            if here.any():
                seen |= here
                if region.followed:
                    part = addresses[here]
                    bounds = int(part.min()), int(part.max())
                    numbers = None if here.all() else np.flatnonzero(here)
                    accesses.append(self._access(region, part, numbers, size, line, *bounds))
        return accesses, None if seen.all() else seen

    def _reached(self, low: int, high: int) -> list[Region]:
        """Take in tensors whose addresses the submission asked for: it may have passed numbers."""
        found: list[Region] = []
        for address in (low, high):
            if self.passed.around(address) is None:
                tensor = self._reach(address)
                if tensor is not None and (
                    region := self.passed.add(Argument("data_ptr()", tensor))
                ):
                    self._know(region)
                    found.append(region)
        return found

    def _access(
        self, region: Region, addresses: Any, lanes: Any, size: int, line: int, low: int, high: int
    ) -> Access:
        if size < region.unit:
            region.refine(size)
        first, last = (low - region.start) // region.unit, (high - region.start) // region.unit
        count = len(addresses)
        if (
            last - first + 1 == count
            and size == region.unit
            and (addresses[1:] > addresses[:-1]).all()
        ):
            return Access(region, slice(first, last + 1), lanes, line)
        index = ((addresses - np.uint64(region.start)) // np.uint64(region.unit)).astype(np.int64)
        if size > region.unit:
            index = (index[:, None] + np.arange(size // region.unit)).ravel()
        return Access(region, index, lanes, line)
