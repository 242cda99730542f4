"""Lab 08: linear layers whose weight is split over the ranks of a process group.

Letters: O output and I input features, W world (ranks in the group), E model width, F feed-forward
width, H query heads, G key/value heads, D head width. Weights are [out, in]: y = x @ weight.T.
Every rank calls the same code with the same full weights, and keeps its own part. ``group`` is a
process group of torch.distributed, or None for the default one; a rank is a rank in the group.
"""

from torch import Tensor, nn
from torch.distributed import ProcessGroup

# --- Task 1: shards --------------------------------------------------------------------------


def column_shard(
    weight: Tensor,  # [O, I]
    rank: int,  # 0 to world - 1
    world: int,
) -> Tensor:  # [O / world, I]
    """Return the rank's output features; O not divisible by world is a ValueError."""
    raise NotImplementedError("shards: column_shard")


def row_shard(
    weight: Tensor,  # [O, I]
    rank: int,  # 0 to world - 1
    world: int,
) -> Tensor:  # [O, I / world]
    """Return the part for the rank's input features; I not divisible by world is a ValueError."""
    raise NotImplementedError("shards: row_shard")


# --- Task 2: column --------------------------------------------------------------------------


class ColumnParallelLinear(nn.Module):
    """A linear layer whose output features are split; parameters ``weight`` and ``bias``."""

    def __init__(
        self,
        weight: Tensor,  # [O, I], the full weight
        bias: Tensor | None,  # [O]
        group: ProcessGroup | None,
        gather_output: bool = False,
    ) -> None:
        raise NotImplementedError("column: ColumnParallelLinear")

    def forward(
        self,
        x: Tensor,  # [..., I], the same on every rank
    ) -> Tensor:  # [..., O / W], or [..., O] with gather_output
        """Forward sends nothing, or gathers the outputs; backward sums x's gradient over ranks."""
        raise NotImplementedError("column: ColumnParallelLinear.forward")


# --- Task 3: row -----------------------------------------------------------------------------


class RowParallelLinear(nn.Module):
    """A linear layer whose input features are split; ``weight`` is a part, ``bias`` is whole."""

    def __init__(
        self,
        weight: Tensor,  # [O, I], the full weight
        bias: Tensor | None,  # [O]
        group: ProcessGroup | None,
    ) -> None:
        raise NotImplementedError("row: RowParallelLinear")

    def forward(
        self,
        x: Tensor,  # [..., I / W], the rank's part of the input
    ) -> Tensor:  # [..., O], the same on every rank
        """One all-reduce forward, none backward."""
        raise NotImplementedError("row: RowParallelLinear.forward")


# --- Task 4: qkv -----------------------------------------------------------------------------


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
        raise NotImplementedError("qkv: QKVParallelLinear")

    def forward(
        self,
        x: Tensor,  # [..., E], the same on every rank
    ) -> tuple[Tensor, Tensor, Tensor]:  # q, k, v of the rank's heads, each [..., heads * D]
        """Forward sends nothing; backward sums the gradients of x, and of heads held in common."""
        raise NotImplementedError("qkv: QKVParallelLinear.forward")


# --- Task 5: mlp -----------------------------------------------------------------------------


class ParallelMLP(nn.Module):
    """A SwiGLU feed-forward whose F features are split; ``w_gate``, ``w_up`` and ``w_down``."""

    def __init__(
        self,
        w_gate: Tensor,  # [F, E]
        w_up: Tensor,  # [F, E]
        w_down: Tensor,  # [E, F]
        group: ProcessGroup | None,
    ) -> None:
        raise NotImplementedError("mlp: ParallelMLP")

    def forward(
        self,
        x: Tensor,  # [..., E], the same on every rank
    ) -> Tensor:  # [..., E], the same on every rank
        """Return (silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T; one all-reduce each way."""
        raise NotImplementedError("mlp: ParallelMLP.forward")


# --- Task 6: cost ----------------------------------------------------------------------------


def communication_bytes(
    op: str,  # "all_reduce", "all_gather", "reduce_scatter" or "broadcast"
    elements: int,  # of the full tensor
    element_size: int,  # bytes
    world: int,
) -> float:
    """Return the bytes that the busiest rank sends when the op runs as a ring.

    One rank alone sends nothing. Another op is a ValueError.
    """
    raise NotImplementedError("cost: communication_bytes")
