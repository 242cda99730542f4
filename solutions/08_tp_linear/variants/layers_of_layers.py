"""QKV and MLP made of the two linear layers; heads are repeated before they are cut."""

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
        world = dist.get_world_size(group)
        if num_heads % world:
            raise ValueError(f"num_heads={num_heads} on {world} ranks")
        if num_kv_heads % world and world % num_kv_heads:
            raise ValueError(f"num_kv_heads={num_kv_heads} on {world} ranks")
        # Repeat each head for its holders: then they are as many as ranks, and cut like queries.
        self.holders = max(world // num_kv_heads, 1)
        self.group = group
        self.wq = ColumnParallelLinear(wq, None, group).weight
        self.wk, self.wv = (
            ColumnParallelLinear(
                weight.unflatten(0, (num_kv_heads, -1))
                .repeat_interleave(self.holders, 0)
                .flatten(0, 1),
                None,
                group,
            ).weight
            for weight in (wk, wv)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        wk, wv = self.wk, self.wv
        if self.holders > 1:
            head = dist.get_rank(self.group) // self.holders
            heads = dist.get_world_size(self.group) // self.holders
            wk, wv = Replicate.apply(wk, wv, head, heads, self.group)
        # Each product has an entrance of its own: three smaller sums for the gradient of x.
        return tuple(linear(Copy.apply(x, self.group), weight) for weight in (self.wq, wk, wv))


class ParallelMLP(nn.Module):
    def __init__(
        self, w_gate: Tensor, w_up: Tensor, w_down: Tensor, group: ProcessGroup | None
    ) -> None:
        super().__init__()
        gate = ColumnParallelLinear(w_gate, None, group)
        up = ColumnParallelLinear(w_up, None, group)
        # down is a child, but its weight is this module's first, and named after it.
        self.down = RowParallelLinear(w_down, None, group)
        self.w_gate, self.w_up, self.w_down = gate.weight, up.weight, self.down.weight
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        x = Copy.apply(x, self.group)
        return self.down(silu(linear(x, self.w_gate)) * linear(x, self.w_up))


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
