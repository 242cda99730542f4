"""Operators, lab 15: what PyTorch needs beside a kernel: fakes and gradients.

The library that is built of ``operators.cpp`` has been loaded before.

Letters: F features of an MLP, E features of a model, M rows, I inputs, O outputs of a layer.
"""

from typing import Any

import torch
from torch import Tensor


def register() -> None:
    """Register fakes of all operators, and the gradients of those that have any."""
    for name, fake in FAKES.items():
        torch.library.register_fake(f"inferlab15::{name}", fake)
    torch.library.register_autograd(
        "inferlab15::silu_mul", _silu_mul_backward, setup_context=_keep_inputs
    )
    torch.library.register_autograd("inferlab15::int4_linear", _refuse)


def _new(like: Tensor, *shape: Any) -> Tensor:
    """What a kernel gives: contiguous, whatever the strides of its arguments are."""
    return torch.empty(shape, dtype=like.dtype, device=like.device)


def _fake_silu_mul(gate: Tensor, up: Tensor) -> Tensor:  # [..., F] x2 -> [..., F]
    return _new(gate, *gate.shape)


def _fake_backward(dy: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    return _new(gate, *gate.shape), _new(gate, *gate.shape)


def _fake_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
    return _new(x, *x.shape)


def _fake_int4(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    return _new(x, x.shape[0], packed.shape[0])


FAKES = {
    "silu_mul": _fake_silu_mul,
    "silu_mul_backward": _fake_backward,
    "add_rms_norm": _fake_norm,
    "int4_linear": _fake_int4,
}


def _keep_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _silu_mul_backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None]:
    dgate, dup = torch.ops.inferlab15.silu_mul_backward(dy, *ctx.saved_tensors)
    needs_gate, needs_up = ctx.needs_input_grad
    return dgate if needs_gate else None, dup if needs_up else None


def _refuse(ctx: Any, dy: Tensor) -> None:
    raise RuntimeError("int4_linear has no gradient: its weights are codes")
