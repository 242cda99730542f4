"""One launch under the sanitizer: what its programs do, held against what they may."""

import contextlib
import random
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from torch import Tensor

from grader.worker.operators.unwritten import PATTERN
from grader.worker.sanitizer.addresses import Addresses, Lanes
from grader.worker.sanitizer.arguments import Argument
from grader.worker.sanitizer.findings import Finding, Findings, place, shown
from grader.worker.sanitizer.order import Order
from grader.worker.sanitizer.races import Access, Races
from grader.worker.sanitizer.undefined import Undefined

FAR = 1 << 24  # bytes beyond a tensor that no forgotten mask explains, but an offset that wrapped
PATIENCE = 1000  # turns of a loop that waits for what no program can do any more
BLIND = frozenset((0,))


class Launched:
    """What the programs of one launch do."""

    def __init__(
        self,
        given: list[Argument],
        found: Findings,
        undefined: Undefined,
        blank: Callable[[Tensor], Any],
        reach: Callable[[int], Tensor | None],
    ) -> None:
        self._addresses = Addresses(given, blank, reach)
        self._passed = self._addresses.passed
        self._found = found
        self._undefined = undefined
        self._grid: tuple[int, ...] = (1, 1, 1)
        self._turn: list[int] | None = None
        self._order = Order(1)
        self._races = Races(self._order, found, self._ids)
        self.wrapped: int | None = None  # the line at which an offset of this program passed 2³¹
        self._atomic: tuple[bool, bool, bool] | None = None
        self._waited: tuple[int, int] = (0, 0)  # the line and the address of the last atomic
        self._was: Any = None  # what lay there before it
        self._turns = 0

    def spread(self, grid: tuple[int, ...], order: str, draw: random.Random) -> None:
        """Learn of the grid, and decide in which order its programs run."""
        self._grid = grid
        count = grid[0] * grid[1] * grid[2]
        self._order = Order(count)
        self._races = Races(self._order, self._found, self._ids)
        if order:
            self._turn = [*range(count)][::-1]
            if order == "shuffled":
                draw.shuffle(self._turn)

    def begin(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """Begin the next program, and return which one that is."""
        _, wide, deep = self._grid
        number = (ids[0] * wide + ids[1]) * deep + ids[2]
        if self._turn is not None:
            number = self._turn[number]
        self._order.begin(number)
        self.wrapped = None
        self._waited = (0, 0)
        return number // (wide * deep), number // deep % wide, number % deep

    def end(self) -> None:
        """Say whether all of the launch could be followed."""
        self._found.partial |= self._order.full
        self._found.partial |= any(not region.followed for region in self._passed.regions)

    def _ids(self, number: int) -> tuple[int, ...]:
        _, wide, deep = self._grid
        ids = number // (wide * deep), number // deep % wide, number % deep
        axes = 3 if deep > 1 else 2 if wide > 1 else 1
        return ids[:axes]

    # -- memory ------------------------------------------------------------------------------

    def load(self, lanes: Lanes, size: int, line: int) -> Any:
        """Follow a load; return a mask without the lanes outside, or None if there are none."""
        self._waited = (0, 0)
        accesses, inside = self._parts(lanes, size, line)
        for access in accesses:
            if self._atomic is not None:
                self._synchronise(access, self._atomic)
            if access.region.unwritten is not None:
                self._look(access)
            self._races.read(access, atomic=self._atomic is not None and self._atomic[2])
        return inside

    def store(
        self, lanes: Lanes, size: int, line: int, data: Any, kind: str, before: Callable[[Any], Any]
    ) -> Any:
        """Follow a store of ``data``; ``before`` returns what lies where chosen lanes point to."""
        self._waited = (0, 0)
        accesses, inside = self._parts(lanes, size, line)
        values = lanes.of(data)
        self._defined(values, kind)
        for access in accesses:
            chosen = slice(None) if access.lanes is None else access.lanes

            def same(apart: Any, chosen: Any = chosen) -> Any:
                numbers = np.arange(len(lanes.addresses))[chosen]
                if len(numbers) != len(apart):  # elements wider than the region's
                    return BLIND
                return before(numbers[apart]) == values[numbers[apart]]

            self._races.write(access, same, atomic=self._atomic is not None and self._atomic[2])
            if access.region.unit == size:
                self._races.lanes(access, values[chosen])
            if self._atomic is not None:
                self._synchronise(access, self._atomic)
            self._touch(access)
        return inside

    def atomic(
        self,
        lanes: Lanes,
        size: int,
        line: int,
        order: tuple[bool, bool, bool],
        data: Any,
        kind: str,
    ) -> Any:
        """Follow an operation that reads and writes at once."""
        accesses, inside = self._parts(lanes, size, line)
        self._defined(lanes.of(data), kind)
        for access in accesses:
            acquires, releases, shared = order
            if acquires:
                self._order.acquire(access.region.sign()[access.index])
            if access.region.unwritten is not None:
                self._look(access)
            self._races.write(access, atomic=shared)
            if releases:
                signs = access.region.sign()
                signs[access.index] = self._order.release(signs[access.index])
            self._touch(access)
        return inside

    @contextlib.contextmanager
    def as_atomic(self, order: tuple[bool, bool, bool]) -> Generator[None]:
        """Take loads and stores inside for atomic ones."""
        self._atomic = order
        try:
            yield
        finally:
            self._atomic = None

    def _synchronise(self, access: Access, order: tuple[bool, bool, bool]) -> None:
        acquires, releases, _ = order
        signs = access.region.sign()
        if acquires:
            self._order.acquire(signs[access.index])
        if releases:
            signs[access.index] = self._order.release(np.zeros(1, np.int32))

    def wait(self, lanes: Lanes, line: int, old: Any) -> None:
        """Count the turns of a loop in which an atomic changes nothing; raise after too many.

        Programs before this one have ended and those after it have not begun: nobody else will
        change what it waits for. ``old`` is what lay there before the operation.
        """
        key = line, int(lanes.given.flat[0])
        again = self._waited == key and np.array_equal(old, self._was)
        self._waited, self._was = key, old
        self._turns = self._turns + 1 if again else 0
        if self._turns < PATIENCE:
            return
        region = self._passed.around(key[1])
        tensor, where = region.element(key[1]) if region else ("", None)
        ids = self._ids(self._order.program)
        text = (
            f"Program {shown(ids)} waits for {place(tensor, where)} to change, and no program that "
            "has ended will do so: a lock that is never released, or a wait for another program."
        )
        self._found.add(Finding("waits", line, text, tensor, where, ids))
        raise RuntimeError(text)

    # -- what is found beside races ----------------------------------------------------------

    def _parts(self, lanes: Lanes, size: int, line: int) -> tuple[list[Access], Any]:
        """Divide lanes by regions; return a mask without those outside of all, if there are any."""
        accesses, seen = self._addresses.parts(lanes, size, line)
        if seen is None:
            return accesses, None
        self._outside(lanes, ~seen, line)
        return accesses, lanes.spread(seen)

    def _outside(self, lanes: Lanes, outside: Any, line: int) -> None:
        lane = int(outside.argmax())
        address = int(lanes.addresses[lane])
        tensor, offset = self._passed.nearest(address) or ("", 0)
        ids, count = self._ids(self._order.program), int(outside.sum())
        region = min(
            self._passed.regions,
            key=lambda region: max(region.start - address, address - region.end, 0),
            default=None,
        )
        far = region is None or not region.start - FAR <= address < region.end + FAR
        if far and self.wrapped is not None:
            text = (
                f"An offset in int32 passes 2³¹ in program {shown(ids)} and wraps around; then "
                f"line {line} touches {tensor} at offset {offset}. Make one factor int64 first."
            )
            self._found.add(
                Finding("overflow", self.wrapped, text, tensor, (offset,), ids, count=count)
            )
            return
        mask = (
            "there is no mask"
            if lanes.mask is None
            else f"the mask lets {len(lanes.addresses)} of {lanes.given.size} lanes through"
        )
        text = (
            f"Program {shown(ids)} leaves every tensor that it was passed, at offset {offset} from "
            f"the start of {tensor}, in {count} lane{'s' * (count != 1)}; {mask}."
        )
        self._found.add(Finding("outside", line, text, tensor, (offset,), ids, count=count))

    def _look(self, access: Access) -> None:
        """Find lanes that read what nobody has written."""
        region, index = access.region, _bytes(access)
        unwritten = region.unwritten[index]
        if not unwritten.any():
            return
        unwritten = unwritten & (region.memory[index] == PATTERN)
        if not unwritten.any():
            return
        tensor, where = region.element(access.at(int(unwritten.argmax())))
        ids = self._ids(self._order.program)
        text = (
            f"Program {shown(ids)} reads {place(tensor, where)}, which nobody has written: the "
            "tensor was made by torch.empty or its like, and holds anything."
        )
        count = int(unwritten.sum())
        self._found.add(Finding("unwritten", access.line, text, tensor, where, ids, count=count))

    def _touch(self, access: Access) -> None:
        if access.region.unwritten is not None:
            access.region.unwritten[_bytes(access)] = False

    def _defined(self, values: Any, kind: str) -> None:
        """Find values that came out of lanes that a mask hid from a load."""
        found = self._undefined.line_of(values, kind)
        if found is not None:
            ids = self._ids(self._order.program)
            text = (
                f"Program {shown(ids)} stores what comes out of lanes that a mask hides from this "
                "load: without other= they hold anything, and here they went into a result."
            )
            self._found.add(Finding("masked", found[0], text, program=ids, count=found[1]))


def _bytes(access: Access) -> Any:
    """Return the first byte of each element, as an index into the region."""
    unit, index = access.region.unit, access.index
    if isinstance(index, slice):
        return slice(index.start * unit, index.stop * unit, unit)
    return index * unit
