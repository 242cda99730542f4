"""Sums and parts over ranks: the smallest lab on groups.

N rows, W ranks.
"""

from torch import Tensor
from torch.distributed import ProcessGroup


def total(x: Tensor, group: ProcessGroup | None = None) -> Tensor:
    """Return the sum over all ranks, on every rank; x stays as it is."""
    raise NotImplementedError("total: total")


class Part:
    """The rank's own rows of x [N, ...], as ``rows``; N is a multiple of W."""

    def __init__(self, x: Tensor, group: ProcessGroup | None = None) -> None:
        raise NotImplementedError("part: Part")
