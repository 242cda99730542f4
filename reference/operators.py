"""Oracle for lab 15: its operators in float64, an element, a row or a weight at a time.

Shapes end names: M rows, E features, I inputs, O outputs; ``x_ME`` is [M, E].
"""

import math

import torch
from torch import Tensor


def sigmoid(x: float) -> float:
    """Return ``1 / (1 + exp(-x))`` without overflow."""
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    return math.exp(x) / (1 + math.exp(x))


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:  # [..., F] x2 -> float64 [..., F]
    """Return ``gate * sigmoid(gate) * up``, an element at a time."""
    pairs = zip(gate.double().flatten().tolist(), up.double().flatten().tolist(), strict=True)
    values = [g * sigmoid(g) * u for g, u in pairs]
    return torch.tensor(values, dtype=torch.float64).reshape(gate.shape)


def silu_mul_backward(
    dy: Tensor, gate: Tensor, up: Tensor
) -> tuple[Tensor, Tensor]:  # [..., F] x3 -> float64 [..., F] x2
    """Return the gradients of ``sum(silu_mul(gate, up) * dy)`` for gate and up."""
    dgate, dup = [], []
    flat = (t.double().flatten().tolist() for t in (dy, gate, up))
    for d, g, u in zip(*flat, strict=True):
        s = sigmoid(g)
        dgate.append(d * u * (s + g * s * (1 - s)))
        dup.append(d * g * s)
    shaped = [torch.tensor(v, dtype=torch.float64).reshape(gate.shape) for v in (dgate, dup)]
    return shaped[0], shaped[1]


def add(x: Tensor, residual: Tensor) -> Tensor:  # [..., E] x2 -> [..., E], residual's dtype
    """Return what residual holds afterwards: the sum, rounded once to its dtype."""
    return (x.double() + residual.double()).to(residual.dtype)


def add_rms_norm(
    x: Tensor,  # [..., E]
    residual: Tensor,  # [..., E]
    weight: Tensor,  # [E]
    eps: float,
) -> Tensor:  # float64 [..., E]
    """Return the norm of the rounded sum, row by row, with eps under the root."""
    sums_ME = add(x, residual).double().reshape(-1, x.shape[-1])
    rows = torch.zeros_like(sums_ME)
    for row, values in enumerate(sums_ME.tolist()):
        mean = sum(value * value for value in values) / len(values)
        scale = 1 / math.sqrt(mean + eps)
        for e, value in enumerate(values):
            rows[row, e] = value * scale * float(weight[e])
    return rows.reshape(x.shape)


def int4_weights(packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    """Return the weights, float64 [O, I], that codes stand for: two a byte, the even column low.

    packed is uint8 [O, I/2], scale float32 [O, I/group], zero uint8 [O, I/group].
    """
    outputs, inputs = packed.shape[0], 2 * packed.shape[1]
    weights_OI = torch.zeros(outputs, inputs, dtype=torch.float64)
    for o in range(outputs):
        for i in range(inputs):
            byte, g = int(packed[o, i // 2]), i // group
            code = byte // 16 if i % 2 else byte % 16
            weights_OI[o, i] = (code - int(zero[o, g])) * float(scale[o, g])
    return weights_OI


def int4_linear(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, group: int) -> Tensor:
    """Return ``x @ W.T``, float64 [M, O]."""
    return x.double() @ int4_weights(packed, scale, zero, group).T
