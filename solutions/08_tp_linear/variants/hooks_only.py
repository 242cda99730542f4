"""No autograd function: hooks on tensors sum gradients, and sums enter as constants."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.nn.functional import linear, silu


def column_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    if weight.size(0) % world != 0:
        raise ValueError("weight cannot be cut into that many parts of equal height")
    return weight.chunk(world, dim=0)[rank]


def row_shard(weight: Tensor, rank: int, world: int) -> Tensor:
    return column_shard(weight.transpose(0, 1), rank, world).transpose(0, 1)


def place(group: ProcessGroup | None) -> tuple[int, int]:
    return dist.get_rank(group), dist.get_world_size(group)


def summed(value: Tensor, group: ProcessGroup | None) -> Tensor:
    total = torch.empty(value.shape, dtype=value.dtype, device=value.device).copy_(value)
    dist.all_reduce(total, group=group)
    return total


def shared(x: Tensor, group: ProcessGroup | None) -> Tensor:
    """Return x, so that the gradient that arrives here is summed before it goes on."""
    if not x.requires_grad:
        return x
    entrance = x.view(x.shape)
    entrance.register_hook(lambda grad: summed(grad, group))
    return entrance


def with_value(own: Tensor, value: Tensor) -> Tensor:
    """Return a tensor of this value whose gradient is handed to ``own``."""
    result = own - own.detach() + value
    # Exact: own - own is 0, unless own is infinite.
    return result


def kept(part: Tensor) -> nn.Parameter:
    return nn.Parameter(torch.empty(part.shape, dtype=part.dtype, device=part.device).copy_(part))


class ColumnParallelLinear(nn.Module):
    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        super().__init__()
        self.group = group
        self.gather_output = gather_output
        rank, world = place(group)
        self.weight = kept(column_shard(weight, rank, world))
        self.register_parameter("bias", None)
        if bias is not None:
            self.bias = kept(column_shard(bias.unsqueeze(1), rank, world).squeeze(1))

    def forward(self, x: Tensor) -> Tensor:
        y = shared(x, self.group) @ self.weight.t()
        if self.bias is not None:
            y = y + self.bias
        if not self.gather_output:
            return y
        rank, world = place(self.group)
        flat = y.detach().reshape(-1).contiguous()
        whole = torch.empty(world * flat.numel(), dtype=y.dtype, device=y.device)
        dist.all_gather_into_tensor(whole, flat, group=self.group)
        parts = list(whole.view(world, *y.shape).unbind(0))
        parts[rank] = y  # the only one that leads back to this rank's weight
        return torch.cat(parts, dim=-1)


class RowParallelLinear(nn.Module):
    def __init__(self, weight: Tensor, bias: Tensor | None, group: ProcessGroup | None) -> None:
        super().__init__()
        self.group = group
        self.weight = kept(row_shard(weight, *place(group)))
        self.bias = kept(bias) if bias is not None else None

    def forward(self, x: Tensor) -> Tensor:
        term = linear(x, self.weight)
        y = with_value(term, summed(term.detach(), self.group))
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
        rank, world = place(group)
        if num_heads % world != 0:
            raise ValueError("num_heads: the query heads cannot be dealt evenly")
        if max(num_kv_heads, world) % min(num_kv_heads, world) != 0:
            raise ValueError("num_kv_heads: the heads cannot be dealt evenly")
        self.group = group
        copies = max(world // num_kv_heads, 1)
        self.wq = kept(column_shard(wq, rank, world))
        self.wk = kept(column_shard(wk, rank // copies, world // copies))
        self.wv = kept(column_shard(wv, rank // copies, world // copies))
        if copies > 1:
            mine = slice(rank // copies * copies, (rank // copies + 1) * copies)
            for shard in (self.wk, self.wv):
                shard.register_hook(lambda grad: self.of_holders(grad, mine))

    def of_holders(self, grad: Tensor, mine: slice) -> Tensor:
        grads = [torch.empty_like(grad) for _ in range(dist.get_world_size(self.group))]
        dist.all_gather(grads, grad.contiguous(), group=self.group)
        return torch.stack(grads[mine]).sum(0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = shared(x, self.group)
        return linear(x, self.wq), linear(x, self.wk), linear(x, self.wv)


class ParallelMLP(nn.Module):
    def __init__(
        self, w_gate: Tensor, w_up: Tensor, w_down: Tensor, group: ProcessGroup | None
    ) -> None:
        super().__init__()
        self.group = group
        rank, world = place(group)
        self.w_gate = kept(column_shard(w_gate, rank, world))
        self.w_up = kept(column_shard(w_up, rank, world))
        self.w_down = kept(row_shard(w_down, rank, world))

    def forward(self, x: Tensor) -> Tensor:
        entrance = shared(x, self.group)
        hidden = silu(entrance @ self.w_gate.t()) * (entrance @ self.w_up.t())
        term = hidden @ self.w_down.t()
        return with_value(term, summed(term.detach(), self.group))


def communication_bytes(op: str, elements: int, element_size: int, world: int) -> float:
    if op == "all_reduce":
        return communication_bytes("reduce_scatter", elements, element_size, world) + (
            communication_bytes("all_gather", elements, element_size, world)
        )
    full = float(elements) * element_size
    if op in ("all_gather", "reduce_scatter"):
        return full - full / world
    if op == "broadcast":
        return full if world != 1 else 0.0
    raise ValueError(f"unknown op: {op}")
