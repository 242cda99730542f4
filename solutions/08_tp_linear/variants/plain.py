"""Plain: four autograd functions that send, and one way to cut a tensor and to own a part of it.

Without a word on why: most wrong answers are edits of this one.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.nn.functional import linear, silu


def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return part(weight, 0, rank, world)


def row_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return part(weight, 1, rank, world)


def part(tensor: Tensor, axis: int, rank: int, world: int) -> Tensor:
    size, rest = divmod(tensor.shape[axis], world)
    if rest:
        raise ValueError(f"weight: {tensor.shape[axis]} features do not split into world={world}")
    return tensor.narrow(axis, rank * size, size)


def own(tensor: Tensor) -> nn.Parameter:
    return nn.Parameter(tensor.detach().clone())


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        total = grad.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=ctx.group)
        return total, None


class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, term: Tensor, group: ProcessGroup | None) -> Tensor:
        total = term.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, y: Tensor, group: ProcessGroup | None) -> Tensor:
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        ctx.begin, ctx.width = rank * y.shape[-1], y.shape[-1]
        parts = [torch.empty_like(y) for _ in range(world)]
        dist.all_gather(parts, y.contiguous(), group=group)
        return torch.cat(parts, dim=-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad.narrow(-1, ctx.begin, ctx.width), None


class Replicate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, wk: Tensor, wv: Tensor, head: int, heads: int, group: ProcessGroup | None
    ) -> tuple[Tensor, Tensor]:
        ctx.head, ctx.heads, ctx.group = head, heads, group
        return wk.view_as(wk), wv.view_as(wv)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        both = torch.stack(grads)
        slots = both.new_zeros(ctx.heads, *both.shape)
        slots[ctx.head] = both
        dist.all_reduce(slots, group=ctx.group)
        wk, wv = slots[ctx.head].clone()
        return wk, wv, None, None, None


class ColumnParallelLinear(nn.Module):
    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.weight = own(column_shard(weight, rank, world))
        self.bias = None if bias is None else own(part(bias, 0, rank, world))
        self.group, self.gather_output = group, gather_output

    def forward(self, x: Tensor) -> Tensor:
        y = linear(Copy.apply(x, self.group), self.weight, self.bias)
        return Gather.apply(y, self.group) if self.gather_output else y


class RowParallelLinear(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor | None, group: ProcessGroup | None) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.weight = own(row_shard(weight, rank, world))
        self.bias = None if bias is None else own(bias)
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        y = Sum.apply(linear(x, self.weight), self.group)
        return y if self.bias is None else y + self.bias


class QKVParallelLinear(nn.Module):
    def __init__(
        self,
        wq: Tensor,
        wk: Tensor,
        wv: Tensor,
        num_heads: int,
        num_kv_heads: int,
        group: ProcessGroup | None,
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        if num_heads % world:
            raise ValueError(f"num_heads={num_heads} is not divisible by {world} ranks")
        if num_kv_heads % world and world % num_kv_heads:
            raise ValueError(f"num_kv_heads={num_kv_heads} do not fit {world} ranks")
        shards = min(num_kv_heads, world)
        self.head, self.heads = rank * shards // world, num_kv_heads
        self.wq = own(column_shard(wq, rank, world))
        self.wk = own(column_shard(wk, self.head, shards))
        self.wv = own(column_shard(wv, self.head, shards))
        self.group, self.replicated = group, shards < world

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
        if self.replicated:
            wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
        return linear(x, self.wq), linear(x, wk), linear(x, wv)


class ParallelMLP(nn.Module):
    def __init__(
        self, w_gate: Tensor, w_up: Tensor, w_down: Tensor, group: ProcessGroup | None
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.w_gate = own(column_shard(w_gate, rank, world))
        self.w_up = own(column_shard(w_up, rank, world))
        self.w_down = own(row_shard(w_down, rank, world))
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        x = Copy.apply(x, self.group)
        hidden = silu(linear(x, self.w_gate)) * linear(x, self.w_up)
        return Sum.apply(linear(hidden, self.w_down), self.group)


def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
    chunks = {
        "all_reduce": 2 * (world - 1),
        "all_gather": world - 1,
        "reduce_scatter": world - 1,
        "broadcast": world if world > 1 else 0,
    }
    if op not in chunks:
        raise ValueError(f"op {op!r} is none of {', '.join(chunks)}")
    return elements * element_size * chunks[op] / world
