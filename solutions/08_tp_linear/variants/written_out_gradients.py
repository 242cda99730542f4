"""One autograd function does each layer, gradients written out; sending overlaps computing."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup


def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    outputs, inputs = weight.shape
    if outputs // world * world != outputs:
        raise ValueError(f"world {world} does not divide the {outputs} rows of weight")
    return weight.reshape(world, outputs // world, inputs)[rank]


def row_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    outputs, inputs = weight.shape
    if inputs // world * world != inputs:
        raise ValueError(f"world {world} does not divide the {inputs} columns of weight")
    return weight.reshape(outputs, world, inputs // world)[:, rank]


def rows(tensor: Tensor) -> Tensor:
    return tensor.reshape(-1, tensor.shape[-1])


class Project(torch.autograd.Function):
    """Products of one x with several weights; x's gradient is sent while theirs are computed."""

    @staticmethod
    def forward(ctx: Any, group: ProcessGroup | None, x: Tensor, *weights: Tensor) -> Any:
        ctx.group = group
        ctx.save_for_backward(x, *weights)
        return tuple(x @ weight.T for weight in weights)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        x, *weights = ctx.saved_tensors
        dx, sending = None, None
        if ctx.needs_input_grad[1]:
            dx = sum(grad @ weight for grad, weight in zip(grads, weights, strict=True))
            dx = dx.contiguous()
            sending = dist.all_reduce(dx, group=ctx.group, async_op=True)
        found = [rows(grad).T @ rows(x) for grad in grads]
        if sending is not None:
            sending.wait()
        return None, dx, *found


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, group: ProcessGroup | None, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        y = (x @ weight.T).contiguous()
        dist.all_reduce(y, group=group)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        return None, grad @ weight, rows(grad).T @ rows(x)


class Join(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, group: ProcessGroup | None, y: Tensor) -> Tensor:
        ctx.rank, ctx.world = dist.get_rank(group), dist.get_world_size(group)
        # Gathered with the features first, so that they arrive in order.
        part = rows(y).T.contiguous()
        whole = part.new_empty(ctx.world * part.shape[0], part.shape[1])
        dist.all_gather_into_tensor(whole, part, group=group)
        return whole.T.reshape(*y.shape[:-1], whole.shape[0])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, grad.tensor_split(ctx.world, dim=-1)[ctx.rank]


class SumOver(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, group: Any, weight: Tensor) -> Tensor:
        ctx.group = group
        return weight.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return None, grad


def parameter(tensor: Tensor) -> nn.Parameter:
    return nn.Parameter(tensor.clone().contiguous())


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
        self.weight = parameter(column_shard(weight, rank, world))
        self.bias = None
        if bias is not None:
            self.bias = parameter(row_shard(bias[None], rank, world)[0])
        self.group = group
        self.gather_output = gather_output

    def forward(self, x: Tensor) -> Tensor:
        (y,) = Project.apply(self.group, x, self.weight)
        if self.bias is not None:
            y = y + self.bias
        if self.gather_output:
            y = Join.apply(self.group, y)
        return y


class RowParallelLinear(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor | None, group: ProcessGroup | None) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.weight = parameter(row_shard(weight, rank, world))
        self.bias = None if bias is None else parameter(bias)
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        y = Reduce.apply(self.group, x, self.weight)
        if self.bias is None:
            return y
        return y + self.bias


class QKVParallelLinear(nn.Module):
    """A key/value head that several ranks hold has a process group of its holders."""

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
        fits = num_kv_heads % world == 0 or world % num_kv_heads == 0
        if num_heads % world or not fits:
            raise ValueError(f"{num_heads=} and {num_kv_heads=} do not fit {world} ranks")
        holders = max(1, world // num_kv_heads)
        index, parts = rank // holders, world // holders
        self.wq = parameter(column_shard(wq, rank, world))
        self.wk = parameter(column_shard(wk, index, parts))
        self.wv = parameter(column_shard(wv, index, parts))
        self.group, self.holders = group, None
        if holders == world:
            self.holders = (group,)
        elif holders > 1:
            everyone = dist.get_process_group_ranks(group or dist.group.WORLD)
            mine = everyone[index * holders : (index + 1) * holders]
            self.holders = (dist.new_group(mine, use_local_synchronization=True),)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        wk, wv = self.wk, self.wv
        if self.holders is not None:
            wk, wv = (SumOver.apply(self.holders[0], weight) for weight in (wk, wv))
        return Project.apply(self.group, x, self.wq, wk, wv)


class ParallelMLP(nn.Module):
    def __init__(
        self, w_gate: Tensor, w_up: Tensor, w_down: Tensor, group: ProcessGroup | None
    ) -> None:
        super().__init__()
        rank, world = dist.get_rank(group), dist.get_world_size(group)
        self.w_gate = parameter(column_shard(w_gate, rank, world))
        self.w_up = parameter(column_shard(w_up, rank, world))
        self.w_down = parameter(row_shard(w_down, rank, world))
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        gate, up = Project.apply(self.group, x, self.w_gate, self.w_up)
        return Reduce.apply(self.group, gate * gate.sigmoid() * up, self.w_down)


def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
    full, share = elements * element_size, (world - 1) / world
    match op:
        case "all_reduce":
            return 2 * share * full
        case "all_gather" | "reduce_scatter":
            return share * full
        case "broadcast":
            return float(full * (world > 1))
        case _:
            raise ValueError(f"op must be a collective of the list, not {op}")
