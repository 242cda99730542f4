"""Contiguous copies in C++, and gradients by functions of autograd that are kernels themselves."""

from typing import Any

import torch
from torch import Tensor

LIBRARY = torch.library.Library("inferlab15", "IMPL")  # what it registers lives as long as it does


class SiluMul(torch.autograd.Function):
    """The kernel below autograd, with the gradients above it."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:
        """Keep both inputs."""
        ctx.save_for_backward(gate, up)
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.inferlab15.silu_mul(gate, up)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor]:
        """Give both gradients: autograd drops what nobody needs."""
        return torch.ops.inferlab15.silu_mul_backward(dy, *ctx.saved_tensors)


class Int4Linear(torch.autograd.Function):
    """The kernel below autograd, and an error above it."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int
    ) -> Tensor:
        """Keep nothing."""
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.inferlab15.int4_linear(x, packed, scale, zero, group)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> None:
        """Refuse."""
        raise RuntimeError("int4_linear cannot be trained")


def register() -> None:
    """Register fakes, and both functions in the place of autograd's kernels."""
    LIBRARY.impl("silu_mul", SiluMul.apply, "Autograd")
    LIBRARY.impl("int4_linear", Int4Linear.apply, "Autograd")

    @torch.library.register_fake("inferlab15::silu_mul")
    def _(gate: Tensor, up: Tensor) -> Tensor:
        return torch.empty_like(gate, memory_format=torch.contiguous_format)

    @torch.library.register_fake("inferlab15::silu_mul_backward")
    def _(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
        return gate.new_empty(gate.shape), up.new_empty(up.shape)

    @torch.library.register_fake("inferlab15::add_rms_norm")
    def _(x: Tensor, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
        return x.new_empty(x.size())

    @torch.library.register_fake("inferlab15::int4_linear")
    def _(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
        return x.new_empty(x.size(0), packed.size(0))
