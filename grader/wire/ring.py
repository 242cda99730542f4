"""The layout of a ring: the same slots, each the tensors of one call, in both processes.

A slot holds the inputs of a call, then its outputs. Judge and worker derive equal views from equal
layouts, so only the layout and the descriptor of the memory cross the wire.
"""

import math
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

ALIGNMENT = 512  # bytes; what torch's own allocator gives, so that no kernel sees odd pointers


@dataclass(frozen=True, slots=True)
class Spec:
    """Dtype and shape of one tensor of a slot."""

    dtype: torch.dtype
    shape: tuple[int, ...]

    @classmethod
    def of(cls, tensor: Tensor) -> Self:
        """Return the spec of a tensor."""
        return cls(tensor.dtype, tuple(tensor.shape))

    @property
    def bytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def room(self) -> int:
        """Bytes that it takes in a slot."""
        return -(-self.bytes // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Layout:
    """What one slot holds, and how many slots there are."""

    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    slots: int

    @property
    def slot_bytes(self) -> int:
        """Bytes of one slot."""
        return sum(spec.room for spec in (*self.inputs, *self.outputs))

    @property
    def size(self) -> int:
        """Bytes of the ring."""
        return self.slots * self.slot_bytes

    def to_json(self) -> dict[str, Any]:
        """Return the layout as plain values."""
        packed = {
            name: [[str(spec.dtype).removeprefix("torch."), list(spec.shape)] for spec in specs]
            for name, specs in (("inputs", self.inputs), ("outputs", self.outputs))
        }
        return {**packed, "slots": self.slots}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Rebuild a layout that crossed the wire."""
        inputs, outputs = (
            tuple(Spec(getattr(torch, dtype), tuple(shape)) for dtype, shape in data[name])
            for name in ("inputs", "outputs")
        )
        return cls(inputs, outputs, data["slots"])


@dataclass(frozen=True, slots=True)
class Slot:
    """The tensors of one call, as views of the ring."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def slots_of(layout: Layout, memory: Tensor) -> list[Slot]:
    """Return the slots of a ring that lies in ``memory``, a flat uint8 tensor."""
    return [_slot(layout, memory, index * layout.slot_bytes) for index in range(layout.slots)]


def _slot(layout: Layout, memory: Tensor, start: int) -> Slot:
    views: list[Tensor] = []
    for spec in (*layout.inputs, *layout.outputs):
        flat = memory[start : start + spec.bytes]
        views.append(flat.view(spec.dtype).view(spec.shape))
        start += spec.room
    count = len(layout.inputs)
    return Slot(tuple(views[:count]), tuple(views[count:]))
