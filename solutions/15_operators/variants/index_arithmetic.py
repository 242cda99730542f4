"""Index arithmetic in C++, and gradients of what torch's operators compute."""

from typing import Any

import torch
from torch import Tensor

INPUT = {"silu_mul": 0, "silu_mul_backward": 1, "add_rms_norm": 0}  # whose form a result has


def register() -> None:
    """Register fakes and gradients."""
    for name, place in INPUT.items():

        def fake(*args: Any, name: str = name, place: int = place) -> Any:
            like = args[place]
            one = torch.zeros(like.shape, dtype=like.dtype, device=like.device)
            return (one, one.clone()) if name == "silu_mul_backward" else one

        torch.library.register_fake(f"inferlab15::{name}", fake)

    def linear(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
        return x.new_empty((x.shape[0], packed.shape[0]))

    torch.library.register_fake("inferlab15::int4_linear", linear)
    torch.library.register_autograd("inferlab15::silu_mul", slopes, setup_context=keep)
    torch.library.register_autograd("inferlab15::int4_linear", refuse)


def keep(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    """Keep what the slopes are made of."""
    gate, up = inputs
    ctx.save_for_backward(gate, up)


def slopes(ctx: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Return both gradients by torch, in float32, and rounded."""
    gate, up = (each.float() for each in ctx.saved_tensors)
    s = gate.sigmoid()
    dgate = dup = None
    if ctx.needs_input_grad[0]:
        dgate = (dy.float() * up * (s + gate * s * (1 - s))).to(dy.dtype)
    if ctx.needs_input_grad[1]:
        dup = (dy.float() * gate * s).to(dy.dtype)
    return dgate, dup


def refuse(ctx: Any, *upstream: Tensor) -> None:
    """Refuse a gradient."""
    raise RuntimeError("codes have no gradient")
