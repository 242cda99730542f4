"""Graphs on a device: operators that a capture has noted, and that run when they are replayed.

How often is counted here, where no submission is.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.wire.errors import WireError
from grader.worker.operators.places import tensors_in, written_by

MOST_REPLAYS = 10_000  # of one watch


class Unknown(Exception):
    """What is not done here, and leaves what it would have made without numbers."""


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, and where what it makes is to lie; None for what is no new memory."""

    operator: Any
    args: list[Any]
    kwargs: dict[str, Any]
    made: list[Tensor | None]

    @property
    def given(self) -> list[Tensor]:
        """What goes in."""
        return [*tensors_in((self.args, self.kwargs))]

    @property
    def changed(self) -> list[Tensor]:
        """What is other than before, once it has run."""
        return [*tensors_in(self.made), *written_by(self.operator, self.args, self.kwargs)]

    def run(self, counters: Iterable[Any] = ()) -> None:
        """Run it, seen by some counters; raises Unknown where other numbers make it another one."""
        try:
            with contextlib.ExitStack() as counting:
                for counter in counters:
                    counting.enter_context(counter)
                results = [*tensors_in(self.operator(*self.args, **self.kwargs))]
        except MemoryError:
            raise
        except Exception:  # an index that is out of bounds here
            if not all(map(fits, self.changed)):  # it was to grow, and its size did
                raise WireError("a result of another size") from None
            raise Unknown from None
        forms = zip(self.made, results, strict=False)
        if len(results) != len(self.made) or any(
            own is not None and own.shape != result.shape for own, result in forms
        ):
            raise Unknown
        for own, result in zip(self.made, results, strict=True):
            if own is not None:
                own.copy_(result)

    def clear(self) -> None:
        """Leave zeros."""
        for tensor in self.changed:
            tensor.zero_()


def fits(tensor: Tensor) -> bool:
    """Tell whether a tensor's last element lies in its storage."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    last = tensor.storage_offset() + sum((size - 1) * stride for size, stride in pairs)
    room = tensor.untyped_storage().nbytes() // tensor.element_size()
    return not tensor.numel() or last < room


class Graphs:
    """The graphs of one watch, by the numbers that they were lent under."""

    def __init__(self) -> None:
        self._calls: dict[int, list[Call]] = {}
        self.lent: set[int] = set()
        self.replayed: list[int] = []  # in order

    @property
    def captured(self) -> list[int]:
        """The graphs that have been captured, in order."""
        return [*self._calls]

    def capture(self, number: int, calls: list[Call]) -> None:
        """Take a graph. What it makes is NaN, as labs/tape.py has it, until it is replayed."""
        if number not in self.lent or number in self._calls:
            raise WireError("a graph that was not lent, or is captured again")
        self._calls[number] = calls
        for call in calls:
            for tensor in tensors_in(call.made):
                if tensor.is_floating_point():
                    tensor.fill_(torch.nan)

    def replay(self, number: int) -> None:
        """Run a graph on the memory that it was captured with."""
        if number not in self._calls or len(self.replayed) >= MOST_REPLAYS:
            raise WireError("a graph that was not captured, or too many replays")
        self.replayed.append(number)
        for call in self._calls[number]:
            try:
                call.run()
            except Unknown:
                call.clear()
