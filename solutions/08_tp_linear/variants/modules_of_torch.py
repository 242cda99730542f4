"""The linear layers are nn.Linear of their part; where backward does nothing, sums are in place."""

from fractions import Fraction
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributed import ProcessGroup


def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return torch.index_select(weight, 0, places(weight, 0, rank, world))


def row_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return torch.index_select(weight, 1, places(weight, 1, rank, world))


def places(weight: Tensor, axis: int, rank: int, world: int) -> Tensor:
    features = torch.arange(weight.shape[axis], device=weight.device)
    if len(features) % world:
        raise ValueError("that many features cannot be divided")
    return features.view(world, -1)[rank]


class Entrance(torch.autograd.Function):
    """Sums gradients of all ranks, in float32 at least."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: ProcessGroup | None) -> Tensor:
        ctx.group = group
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        wide = torch.zeros(grad.shape, dtype=torch.promote_types(grad.dtype, torch.float32))
        wide = wide.to(grad.device)
        wide += grad
        dist.all_reduce(wide, group=ctx.group)
        return wide.to(grad.dtype), None


def summed_in_place(term: Tensor, group: ProcessGroup | None) -> Tensor:
    with torch.no_grad():
        dist.all_reduce(term, group=group)
    return term


class ColumnParallelLinear(nn.Linear):
    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        self.rank, self.world = dist.get_rank(group), dist.get_world_size(group)
        own = column_shard(weight, self.rank, self.world)
        super().__init__(
            own.shape[1], own.shape[0], bias is not None, device=own.device, dtype=own.dtype
        )
        self.group, self.gather_output = group, gather_output
        with torch.no_grad():
            self.weight.copy_(own)
            if bias is not None:
                self.bias.copy_(column_shard(bias[:, None], self.rank, self.world)[:, 0])

    def forward(self, x: Tensor) -> Tensor:
        y = super().forward(Entrance.apply(x, self.group))
        if not self.gather_output:
            return y
        whole = y.new_empty(self.world, *y.shape)
        dist.all_gather(list(whole.detach()), y.detach().contiguous(), group=self.group)
        return torch.cat([y if r == self.rank else whole[r] for r in range(self.world)], -1)


class RowParallelLinear(nn.Linear):
    def __init__(self, weight: Tensor, bias: Tensor | None, group: ProcessGroup | None) -> None:
        own = row_shard(weight, dist.get_rank(group), dist.get_world_size(group))
        super().__init__(
            own.shape[1], own.shape[0], bias is not None, device=own.device, dtype=own.dtype
        )
        self.group = group
        with torch.no_grad():
            self.weight.copy_(own)
            if bias is not None:
                self.bias.copy_(bias)

    def forward(self, x: Tensor) -> Tensor:
        y = summed_in_place(F.linear(x, self.weight), self.group)
        return y + self.bias if self.bias is not None else y


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
        # Lists of heads, in place of arithmetic on rows.
        read = [head * num_kv_heads // num_heads for head in range(num_heads)]
        if num_heads % world:
            raise ValueError(f"{world} ranks cannot share num_heads = {num_heads}")
        if num_kv_heads % world and world % num_kv_heads:
            raise ValueError(f"{world} ranks cannot share num_kv_heads = {num_kv_heads}")
        each = num_heads // world
        self.wq = self.of_heads(wq, num_heads, list(range(rank * each, (rank + 1) * each)))
        holds = [sorted(set(read[r * each : (r + 1) * each])) for r in range(world)]
        self.wk, self.wv = (self.of_heads(w, num_kv_heads, holds[rank]) for w in (wk, wv))
        self.group = group
        self.holders = [r for r in range(world) if holds[r] == holds[rank]]

    @staticmethod
    def of_heads(weight: Tensor, count: int, heads: list[int]) -> nn.Parameter:
        by_head = weight.detach().reshape(count, -1, weight.shape[1])
        return nn.Parameter(by_head[heads].flatten(0, 1))

    def forward(self, x: Tensor) -> list[Tensor] | tuple[Tensor, ...]:
        entered = Entrance.apply(x, self.group)
        keys, values = self.wk, self.wv
        if len(self.holders) > 1:
            keys, values = OfHolders.apply(torch.stack((keys, values)), self).unbind()
        return tuple(F.linear(entered, weight) for weight in (self.wq, keys, values))


class OfHolders(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, both: Tensor, layer: QKVParallelLinear) -> Tensor:
        ctx.layer = layer
        return both.view_as(both)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        layer = ctx.layer
        grads = [torch.empty_like(grad) for _ in range(dist.get_world_size(layer.group))]
        dist.all_gather(grads, grad.contiguous(), group=layer.group)
        return sum(grads[r] for r in layer.holders), None


class ParallelMLP(nn.Module):
    def __init__(
        self, w_gate: Tensor, w_up: Tensor, w_down: Tensor, group: ProcessGroup | None
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        parts = column_shard(w_gate, rank, world), column_shard(w_up, rank, world)
        self.w_gate, self.w_up = map(nn.Parameter, parts)
        self.w_down = nn.Parameter(row_shard(w_down, rank, world))
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        x = Entrance.apply(x, self.group)
        hidden = F.silu(F.linear(x, self.w_gate)).mul(F.linear(x, self.w_up))
        return summed_in_place(hidden.matmul(self.w_down.mT), self.group)


def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
    steps = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "broadcast": 1}
    if op not in steps:
        raise ValueError(f"no such op: {op}")
    share = Fraction(world - 1, world) if op != "broadcast" else Fraction(world > 1)
    return float(steps[op] * share * elements * element_size)
