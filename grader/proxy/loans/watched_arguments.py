"""Arguments that are looked at again after a call, in memory that the judge maps too."""

from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor

from grader.wire.codec import dtype_name
from grader.wire.memory import SharedMemory
from grader.wire.storage import whole_storage

ALIGNED = 64  # bytes, as torch aligns what it allocates


@dataclass(slots=True, eq=False)
class Watched:
    """An argument that is looked at again after the call: tensors, plain values and containers."""

    value: Any
    after: Any = None  # the ``content`` of the worker's: of a tensor, every byte of its storage
    changed: bool = False  # a byte under one of its tensors, as we have seen it ourselves
    seen: Tensor | None = None  # of a single tensor in mapped memory: its bytes as we saw them


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A tensor that is sent as a place in mapped memory."""

    place: int  # byte at which its storage begins
    storage: Tensor
    tensor: Tensor

    def pack(self) -> Any:
        """Return the tree of it: storage, then the view of that."""
        view = [list(self.tensor.shape), list(self.tensor.stride()), self.tensor.storage_offset()]
        return {"s": [self.place, self.storage.numel(), dtype_name(self.tensor), *view]}


@dataclass(slots=True, eq=False)
class WatchedArguments:
    """The arguments that one call must leave as they are, in the order in which they are sent.

    On a CPU their tensors lie in one memory file, each storage in a place of its own. Whatever the
    worker says of them, we read there ourselves what became of them.
    """

    maps: bool
    items: list[Watched] = field(default_factory=list[Watched])
    size: int = 0  # bytes of the memory
    _places: list[tuple[Watched, Placed]] = field(default_factory=list[tuple[Watched, Placed]])
    _memory: SharedMemory | None = None

    def add(self, item: Watched) -> Any:
        """Take an argument, and return what to send of it."""
        self.items.append(item)
        # What is sent later than the call itself travels as any other value.
        return self._placed(item, item.value) if self.maps and not self._memory else item.value

    def _placed(self, item: Watched, value: Any) -> Any:
        """Return a value with ``Placed`` for tensors, where ``content`` looks for them."""
        if isinstance(value, Tensor):
            return self._place(item, value) if value.untyped_storage().nbytes() else value
        if type(value) in (list, tuple):
            return type(value)([self._placed(item, part) for part in cast(list[Any], value)])
        if type(value) is dict:
            parts = cast(dict[str, Any], value).items()
            return {key: self._placed(item, part) for key, part in parts}
        return value

    def _place(self, item: Watched, tensor: Tensor) -> Placed:
        tensor = tensor.detach()
        placed = Placed(self.size, whole_storage(tensor), tensor)
        self._places.append((item, placed))
        self.size += -(-placed.storage.numel() // ALIGNED) * ALIGNED
        return placed

    def make(self) -> tuple[int, ...]:
        """Make the memory and fill it; return the descriptor to hand over, if one is needed."""
        if not self._places or self._memory:
            return ()
        self._memory = SharedMemory.make(self.size, torch.device("cpu"))
        for _, placed in self._places:
            self._now(placed).copy_(placed.storage)
        return (self._memory.fd,)

    def look(self) -> None:
        """Note which arguments were changed, and to what."""
        if self._memory:
            for item, placed in self._places:
                now, sent = self._now(placed), placed.storage
                same = torch.equal(now, sent)
                item.changed |= not same
                item.seen = sent if same else now.clone()

    def _now(self, placed: Placed) -> Tensor:
        assert self._memory is not None
        return self._memory.bytes[placed.place : placed.place + placed.storage.numel()]

    def close(self) -> None:
        """Give the memory up here; the worker has it for as long as it uses it."""
        if self._memory:
            self._memory.close()
            self._memory = None
