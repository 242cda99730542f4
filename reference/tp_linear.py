"""Oracle for lab 08: the layers whole, in float64, and which slice of them a rank holds.

Nothing here is parallel: a rank's answer is a slice of the dense one, so every gradient is written
out for the dense layer and cut afterwards. Shapes end names: M rows, all leading axes flattened, I
input features, O output features.
"""

import math

import torch
from torch import Tensor


def part(size: int, rank: int, world: int) -> slice:
    """Return the rank's share of ``size`` features; ``world`` must divide them."""
    each = size // world
    return slice(rank * each, (rank + 1) * each)


def kv_heads(rank: int, world: int, num_heads: int, num_kv_heads: int) -> list[int]:
    """List the key/value heads that the rank's query heads read, by asking each of them."""
    queries = range(num_heads)[part(num_heads, rank, world)]
    return sorted({head * num_kv_heads // num_heads for head in queries})


def head_rows(heads: list[int], head_dim: int) -> list[int]:
    """List the rows of a projection's weight that belong to these heads."""
    return [head * head_dim + row for head in heads for row in range(head_dim)]


def linear(
    x: Tensor,  # [..., I]
    weight: Tensor,  # [O, I]
    bias: Tensor | None,  # [O]
) -> Tensor:  # [..., O] float64
    """Return x @ weight.T + bias."""
    y = torch.einsum("...i,oi->...o", x.double(), weight.double())
    return y if bias is None else y + bias.double()


def linear_gradients(
    x: Tensor,  # [..., I]
    weight: Tensor,  # [O, I]
    dy: Tensor,  # [..., O]
) -> tuple[Tensor, Tensor, Tensor]:  # dx [..., I], dweight [O, I], dbias [O], all float64
    """Return the gradients of ``sum(linear(x) * dy)``."""
    dx = torch.einsum("...o,oi->...i", dy.double(), weight.double())
    x_MI, dy_MO = x.double().reshape(-1, x.shape[-1]), dy.double().reshape(-1, dy.shape[-1])
    return dx, dy_MO.T @ x_MI, dy_MO.sum(0)


def mlp(
    x: Tensor,  # [..., E]
    w_gate: Tensor,  # [F, E]
    w_up: Tensor,  # [F, E]
    w_down: Tensor,  # [E, F]
) -> Tensor:  # [..., E] float64
    """Return w_down applied to silu(gate) * up."""
    gate, up = linear(x, w_gate, None), linear(x, w_up, None)
    return linear(gate * gate.sigmoid() * up, w_down, None)


def mlp_gradients(
    x: Tensor,  # [..., E]
    w_gate: Tensor,  # [F, E]
    w_up: Tensor,  # [F, E]
    w_down: Tensor,  # [E, F]
    dy: Tensor,  # [..., E]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # dx, dw_gate, dw_up, dw_down, all float64
    """Return the gradients of ``sum(mlp(x) * dy)``.

    With s = sigmoid(g), silu(g) = g * s has the derivative s * (1 + g * (1 - s)).
    """
    gate, up = linear(x, w_gate, None), linear(x, w_up, None)
    sigmoid = gate.sigmoid()
    silu = gate * sigmoid
    dhidden, dw_down, _ = linear_gradients(silu * up, w_down, dy)
    dgate = dhidden * up * sigmoid * (1 + gate * (1 - sigmoid))
    from_gate, dw_gate, _ = linear_gradients(x, w_gate, dgate)
    from_up, dw_up, _ = linear_gradients(x, w_up, dhidden * silu)
    return from_gate + from_up, dw_gate, dw_up, dw_down


def ring_shares(op: str, world: int) -> int:
    """Return how many chunks, each 1 / world of the tensor, the busiest rank of a ring sends.

    Reduce-scatter: in each of world - 1 steps every rank passes one chunk on. All-gather: the same.
    All-reduce: one after the other. Broadcast: every chunk goes through the whole ring but its end.
    """
    if world == 1:
        return 0
    steps = {"reduce_scatter": 1, "all_gather": 1, "all_reduce": 2}
    return world if op == "broadcast" else steps[op] * (world - 1)


def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
    """Return the bytes that the busiest rank sends, rounded once."""
    return math.prod((elements, element_size, ring_shares(op, world))) / world
