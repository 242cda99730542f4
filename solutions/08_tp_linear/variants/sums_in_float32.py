"""Sums over ranks in float32, nothing sent by a rank that is alone, weights joined for products."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.nn.functional import linear, silu


def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return weight[share(weight.shape[0], rank, world), :]


def row_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return weight[:, share(weight.shape[1], rank, world)]


def share(features: int, rank: int, world: int) -> slice:
    if features % world:
        raise ValueError(f"weight: {features} features on world={world} ranks")
    return slice(features * rank // world, features * (rank + 1) // world)


def total(x: Tensor, group: ProcessGroup | None) -> Tensor:
    group = group or dist.group.WORLD
    if group.size() == 1:
        return x
    wide = x.to(torch.promote_types(x.dtype, torch.float32), copy=True).contiguous()
    dist.all_reduce(wide, group=group)
    return wide.to(x.dtype)


class Enter(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, group: ProcessGroup | None) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.group = inputs

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return total(grad, ctx.group), None


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, group: ProcessGroup | None) -> Tensor:
        return total(x, group).clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None


class Layer(nn.Module):
    """What the layers share: a group, and parameters that are copies."""

    def __init__(self, group: ProcessGroup | None, **parts: Tensor | None) -> None:
        super().__init__()
        self.group = group
        for name, part in parts.items():
            copy = None if part is None else nn.Parameter(part.clone())
            self.register_parameter(name, copy)


class ColumnParallelLinear(Layer):
    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        own = share(weight.shape[0], dist.get_rank(group), dist.get_world_size(group))
        super().__init__(group, weight=weight[own], bias=None if bias is None else bias[own])
        self.gather_output = gather_output

    def forward(self, x: Tensor) -> Tensor:
        y = linear(Enter.apply(x, self.group), self.weight, self.bias)
        rank, world = dist.get_rank(self.group), dist.get_world_size(self.group)
        if not self.gather_output or world == 1:
            return y
        parts = [torch.empty_like(y) for _ in range(world)]
        dist.all_gather(parts, y.detach(), group=self.group)
        return torch.cat([*parts[:rank], y, *parts[rank + 1 :]], dim=-1)


class RowParallelLinear(Layer):
    def __init__(self, weight: Tensor, bias: Tensor | None, group: ProcessGroup | None) -> None:
        own = row_shard(weight, dist.get_rank(group), dist.get_world_size(group))
        super().__init__(group, weight=own, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        y = Leave.apply(linear(x, self.weight), self.group)
        return y if self.bias is None else y + self.bias


class QKVParallelLinear(Layer):
    def __init__(
        self,
        wq: Tensor,
        wk: Tensor,
        wv: Tensor,
        num_heads: int,
        num_kv_heads: int,
        group: ProcessGroup | None,
    ) -> None:
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        if num_heads % world:
            raise ValueError(f"num_heads: {num_heads} on {world} ranks")
        if num_kv_heads % world and world % num_kv_heads:
            raise ValueError(f"num_kv_heads: {num_kv_heads} on {world} ranks")
        width = wq.shape[0] // num_heads
        queries = share(num_heads, rank, world)
        # Ask the first and the last query head which key/value head they read.
        per_head = num_heads / num_kv_heads
        first, last = int(queries.start // per_head), int((queries.stop - 1) // per_head)
        q = slice(queries.start * width, queries.stop * width)
        kv = slice(first * width, (last + 1) * width)
        super().__init__(group, wq=wq[q], wk=wk[kv], wv=wv[kv])
        self.sizes = [q.stop - q.start, *[kv.stop - kv.start] * 2]
        self.whole, self.kv = list(wk.shape), kv
        self.is_shared = world > num_kv_heads

    def all_shares(self, grad: Tensor) -> Tensor:
        whole = grad.new_zeros(self.whole)
        whole[self.kv] = grad
        return total(whole, self.group)[self.kv].clone()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        wk, wv = self.wk, self.wv
        if self.is_shared:
            wk, wv = wk.view_as(wk), wv.view_as(wv)
            if torch.is_grad_enabled():
                wk.register_hook(self.all_shares)
                wv.register_hook(self.all_shares)
        fused = torch.cat([self.wq, wk, wv])
        return linear(Enter.apply(x, self.group), fused).split(self.sizes, dim=-1)


class ParallelMLP(Layer):
    def __init__(
        self, w_gate: Tensor, w_up: Tensor, w_down: Tensor, group: ProcessGroup | None
    ) -> None:
        own = share(w_gate.shape[0], dist.get_rank(group), dist.get_world_size(group))
        super().__init__(group, w_gate=w_gate[own], w_up=w_up[own], w_down=w_down[:, own])

    def forward(self, x: Tensor) -> Tensor:
        both = linear(Enter.apply(x, self.group), torch.cat([self.w_gate, self.w_up]))
        gate, up = both.chunk(2, dim=-1)
        return Leave.apply(linear(silu(gate) * up, self.w_down), self.group)


def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
    rounds = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "broadcast": 0}
    if op not in rounds:
        raise ValueError(f"op={op}")
    if world == 1:
        return 0.0
    if op == "broadcast":
        return float(elements * element_size)
    return rounds[op] * (1 - 1 / world) * elements * element_size
