"""Lab 08, model answer: four autograd functions that send, and plain linear layers between them.

In each function one direction does nothing and the other one communicates: a value that all ranks
share has a gradient that is a sum over ranks, and a sum over ranks has a gradient that all share.
(Shoeybi et al. 2019, arXiv:1909.08053, section 3, call the first two f and g.)
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.nn.functional import linear, silu


def column_shard(
    weight: Tensor,  # [O, I]
    rank: int,  # 0 to world - 1
    world: int,
) -> Tensor:  # [O / world, I]
    """Return the rank's output features; O not divisible by world is a ValueError."""
    return _part(weight, 0, rank, world)


def row_shard(
    weight: Tensor,  # [O, I]
    rank: int,  # 0 to world - 1
    world: int,
) -> Tensor:  # [O, I / world]
    """Return the part for the rank's input features; I not divisible by world is a ValueError."""
    return _part(weight, 1, rank, world)


def _part(tensor: Tensor, axis: int, rank: int, world: int) -> Tensor:
    size, rest = divmod(tensor.shape[axis], world)
    if rest:
        raise ValueError(f"weight: {tensor.shape[axis]} features do not split into world={world}")
    return tensor.narrow(axis, rank * size, size)


def _own(part: Tensor) -> nn.Parameter:
    """Make a parameter of a part: a view of it would keep the whole weight in memory."""
    return nn.Parameter(part.detach().clone())


class _Copy(torch.autograd.Function):
    """Hand x to every rank: the identity, whose gradient is the sum of all ranks' gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        # A gradient may be shared with other branches of the graph: sum a copy.
        total = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=ctx.group)
        return total, None


class _Sum(torch.autograd.Function):
    """Sum the ranks' terms, in place; the gradient of a term is the gradient of the sum."""

    @staticmethod
    def forward(ctx: Any, term: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.mark_dirty(term)
        dist.all_reduce(term, group=group)
        return term

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class _Gather(torch.autograd.Function):
    """Join the ranks' features; each rank's gradient is its own part of the gradient."""

    @staticmethod
    def forward(ctx: Any, part: Tensor, group: ProcessGroup | None) -> Tensor:
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        ctx.begin, ctx.width = rank * part.shape[-1], part.shape[-1]
        parts = [torch.empty_like(part) for _ in range(world)]
        dist.all_gather(parts, part.contiguous(), group=group)
        return torch.cat(parts, dim=-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.narrow(-1, ctx.begin, ctx.width), None


class _Replicate(torch.autograd.Function):
    """Use the weights of a head that other ranks hold too: gradients are summed over the holders.

    Each head has a slot, so one all-reduce over the group serves the holders of every head.
    """

    @staticmethod
    def forward(
        ctx: Any, wk: Tensor, wv: Tensor, head: int, heads: int, group: ProcessGroup | None
    ) -> tuple[Tensor, Tensor]:
        ctx.head, ctx.heads, ctx.group = head, heads, group
        return wk.view_as(wk), wv.view_as(wv)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        own = torch.stack(grads)  # [2, D, E]
        slots = own.new_zeros(ctx.heads, *own.shape)
        slots[ctx.head] = own
        dist.all_reduce(slots, group=ctx.group)
        wk, wv = slots[ctx.head].clone()
        return wk, wv, None, None, None


class ColumnParallelLinear(nn.Module):
    """A linear layer whose output features are split; parameters ``weight`` and ``bias``."""

    def __init__(
        self,
        weight: Tensor,  # [O, I], the full weight
        bias: Tensor | None,  # [O]
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.weight = _own(column_shard(weight, rank, world))
        self.bias = None if bias is None else _own(_part(bias, 0, rank, world))
        self.group, self.gather_output = group, gather_output

    def forward(
        self,
        x: Tensor,  # [..., I], the same on every rank
    ) -> Tensor:  # [..., O / W], or [..., O] with gather_output
        """Forward sends nothing, or gathers the outputs; backward sums x's gradient over ranks."""
        y = linear(_Copy.apply(x, self.group), self.weight, self.bias)
        return _Gather.apply(y, self.group) if self.gather_output else y


class RowParallelLinear(nn.Module):
    """A linear layer whose input features are split; ``weight`` is a part, ``bias`` is whole."""

    def __init__(
        self,
        weight: Tensor,  # [O, I], the full weight
        bias: Tensor | None,  # [O]
        group: ProcessGroup | None,
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.weight = _own(row_shard(weight, rank, world))
        self.bias = None if bias is None else _own(bias)
        self.group = group

    def forward(
        self,
        x: Tensor,  # [..., I / W], the rank's part of the input
    ) -> Tensor:  # [..., O], the same on every rank
        """One all-reduce forward, none backward."""
        y = _Sum.apply(linear(x, self.weight), self.group)
        return y if self.bias is None else y + self.bias


class QKVParallelLinear(nn.Module):
    """The projections before attention, split by heads; parameters ``wq``, ``wk`` and ``wv``.

    A rank holds H / W query heads and the key/value heads that they read: G / W, or one that W / G
    ranks hold in common. H not divisible by W, or neither of G and W by the other: ValueError.
    """

    def __init__(
        self,
        wq: Tensor,  # [H * D, E]
        wk: Tensor,  # [G * D, E]
        wv: Tensor,  # [G * D, E]
        num_heads: int,  # H
        num_kv_heads: int,  # G
        group: ProcessGroup | None,
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        if num_heads % world:
            raise ValueError(f"num_heads={num_heads} is not divisible by {world} ranks")
        if num_kv_heads % world and world % num_kv_heads:
            raise ValueError(f"num_kv_heads={num_kv_heads} do not fit {world} ranks")
        self.wq = _own(column_shard(wq, rank, world))
        # Neighbours in the group hold the same head: their query heads read it.
        shards = min(num_kv_heads, world)
        self.head, self.heads = rank * shards // world, num_kv_heads
        self.wk = _own(column_shard(wk, self.head, shards))
        self.wv = _own(column_shard(wv, self.head, shards))
        self.group, self.replicated = group, shards < world

    def forward(
        self,
        x: Tensor,  # [..., E], the same on every rank
    ) -> tuple[Tensor, Tensor, Tensor]:  # q, k, v of the rank's heads, each [..., heads * D]
        """Forward sends nothing; backward sums the gradients of x, and of heads held in common."""
        x, wk, wv = _Copy.apply(x, self.group), self.wk, self.wv
        if self.replicated:
            wk, wv = _Replicate.apply(wk, wv, self.head, self.heads, self.group)
        return linear(x, self.wq), linear(x, wk), linear(x, wv)


class ParallelMLP(nn.Module):
    """A SwiGLU feed-forward whose F features are split; ``w_gate``, ``w_up`` and ``w_down``."""

    def __init__(
        self,
        w_gate: Tensor,  # [F, E]
        w_up: Tensor,  # [F, E]
        w_down: Tensor,  # [E, F]
        group: ProcessGroup | None,
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.w_gate = _own(column_shard(w_gate, rank, world))
        self.w_up = _own(column_shard(w_up, rank, world))
        self.w_down = _own(row_shard(w_down, rank, world))
        self.group = group

    def forward(
        self,
        x: Tensor,  # [..., E], the same on every rank
    ) -> Tensor:  # [..., E], the same on every rank
        """Return (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T; one all-reduce each way."""
        x = _Copy.apply(x, self.group)  # once, for both products: their gradients are added first
        hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
        return _Sum.apply(linear(hidden, self.w_down), self.group)


def communication_bytes(
    op: str,  # "all_reduce", "all_gather", "reduce_scatter" or "broadcast"
    elements: int,  # of the full tensor
    element_size: int,  # bytes
    world: int,
) -> float:
    """Return the bytes that the busiest rank sends when the op runs as a ring.

    One rank alone sends nothing. Another op is a ValueError.
    """
    # In chunks of 1 / world of the tensor. In a broadcast all of them pass through each rank.
    chunks = {
        "all_reduce": 2 * (world - 1),
        "all_gather": world - 1,
        "reduce_scatter": world - 1,
        "broadcast": world if world > 1 else 0,
    }
    if op not in chunks:
        raise ValueError(f"op {op!r} is none of {', '.join(chunks)}")
    return elements * element_size * chunks[op] / world
