"""All is registered by a fragment of the library, and kept contiguous for the backward."""

from typing import Any

import torch
from torch import Tensor


class Kept:
    """What a library holds for as long as the process lives."""

    library = torch.library.Library("inferlab15", "FRAGMENT")


def register() -> None:
    """Register by the library's own methods."""
    fakes = {
        "silu_mul": lambda gate, up: contiguous(gate),
        "silu_mul_backward": lambda dy, gate, up: (contiguous(gate), contiguous(gate)),
        "add_rms_norm": lambda x, residual, weight, eps: contiguous(x),
        "int4_linear": lambda x, packed, scale, zero, group: x.new_empty(
            [*x.shape[:1], *packed.shape[:1]]
        ),
    }
    for name, fake in fakes.items():
        torch.library.register_fake(f"inferlab15::{name}", fake, lib=Kept.library)
    torch.library.register_autograd(
        "inferlab15::silu_mul", backward, setup_context=setup_context, lib=Kept.library
    )
    torch.library.register_autograd("inferlab15::int4_linear", fail, lib=Kept.library)


def contiguous(like: Tensor) -> Tensor:
    """Return an empty tensor with strides of its own."""
    return torch.empty(like.size(), dtype=like.dtype, device=like.device)


def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    """Keep both inputs, contiguous if they are not."""
    ctx.save_for_backward(*(each.contiguous() for each in inputs))


def backward(ctx: Any, dy: Tensor) -> Any:
    """Return both gradients, needed or not."""
    return torch.ops.inferlab15.silu_mul_backward(dy.contiguous(), *ctx.saved_tensors)


def fail(ctx: Any, dy: Tensor) -> None:
    """Fail: nobody can train codes."""
    raise RuntimeError("int4_linear has no backward")
