"""Lab 12: memory in blocks, and a batch that changes with each step.

Letters: N blocks of P tokens in the pool, M entries of a row's table; B sequences, T new tokens,
H query heads, G key/value heads (H is a multiple of G), D head width. Query head h reads key head
h // (H / G). Token p of a sequence lies in block table[p // P], at offset p % P.

Work from top to bottom. ``Scheduler`` may use your ``BlockManager``. Without a GPU, Triton
interprets your kernels (TRITON_INTERPRET=1, which the grader sets).
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

# --- Task 1: blocks (and task 2, sharing) ----------------------------------------------------


class BlockManager:
    """Which sequence holds which blocks. ``num_free`` (int): blocks that nobody holds.

    ValueError naming seq for one that is unknown, or known already; errors change nothing.
    """

    def __init__(self, num_blocks: int, block_size: int, share: bool = False) -> None:
        raise NotImplementedError("blocks: BlockManager")

    def admit(self, seq: int, tokens: list[int]) -> int | None:
        """Give a new sequence the blocks that its tokens need.

        Returns how many leading tokens lie in blocks of another sequence (0 unless ``share``), and
        None, without any change, if there are too few blocks. No tokens: ValueError naming tokens.
        """
        raise NotImplementedError("blocks: BlockManager.admit")

    def append(self, seq: int, token: int) -> list[list[int]] | None:
        """Make room for one more token of a sequence.

        Returns [], or [[source, target]] if one block must be copied to another first; None,
        without any change, if no block is left.
        """
        raise NotImplementedError("blocks: BlockManager.append")

    def fork(self, parent: int, child: int) -> None:
        """Start a sequence as another's twin: it holds the same blocks, the last one too."""
        raise NotImplementedError("sharing: BlockManager.fork")

    def release(self, seq: int) -> None:
        """End a sequence: it lets go of its blocks."""
        raise NotImplementedError("blocks: BlockManager.release")

    def table(self, seq: int) -> list[int]:
        """Return the blocks of a sequence, in the order of its tokens."""
        raise NotImplementedError("blocks: BlockManager.table")

    def length(self, seq: int) -> int:
        """Return how many tokens a sequence has."""
        raise NotImplementedError("blocks: BlockManager.length")


# --- Task 3: torch ---------------------------------------------------------------------------


def write_kv(
    k_pool: Tensor,  # [N, P, G, D], any strides; written in place
    v_pool: Tensor,  # [N, P, G, D]
    k: Tensor,  # [T, G, D]
    v: Tensor,  # [T, G, D]
    slots: Tensor,  # [T] int64: block * P + offset of each token, -1 for one to skip
) -> None:
    """Write the keys and values of T tokens to their places, and nothing else."""
    raise NotImplementedError("torch: write_kv")


def paged_attention_torch(
    q: Tensor,  # [B, H, D], one query a sequence
    k_pool: Tensor,  # [N, P, G, D], any strides
    v_pool: Tensor,  # [N, P, G, D]
    tables: Tensor,  # [B, M] int32; entries behind a row's blocks may be any number
    lengths: Tensor,  # [B] int32, tokens of each row, 0 included
) -> Tensor:  # [B, H, D] in the dtype of q
    """Attend each row to its tokens, with the scale D**-0.5; a row without tokens gives 0."""
    raise NotImplementedError("torch: paged_attention_torch")


# --- Task 4: triton (and speed) --------------------------------------------------------------


def paged_attention(
    q: Tensor,  # [B, H, D], D from 1 to 256
    k_pool: Tensor,  # [N, P, G, D], P from 1 to 128
    v_pool: Tensor,  # [N, P, G, D]
    tables: Tensor,  # [B, M] int32
    lengths: Tensor,  # [B] int32
) -> Tensor:  # [B, H, D] in the dtype of q
    """Do the same in Triton kernels, which follow the tables themselves."""
    raise NotImplementedError("triton: paged_attention")


# --- Task 5: scheduler -----------------------------------------------------------------------


class Scheduler:
    """Decides before each step which requests compute which of their tokens.

    ``waiting`` and ``running`` (lists of int): requests in line, and those that hold blocks, in
    order of admission.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_running: int,
        max_tokens: int,
        share: bool = False,
    ) -> None:
        raise NotImplementedError("scheduler: Scheduler")

    def add(self, request: int, prompt: list[int], max_new_tokens: int, eos_ids: list[int]) -> None:
        """Put a request at the end of the line.

        ValueError naming prompt, request or max_new_tokens for what could never be served.
        """
        raise NotImplementedError("scheduler: Scheduler.add")

    def plan(self) -> dict[str, list]:
        """Return the next step.

        "rows": [[request, start, stop]], the tokens to compute; "tables": one list of blocks for
        each row; "preempted": [request], in the order in which they had to go.
        """
        raise NotImplementedError("scheduler: Scheduler.plan")

    def commit(self, tokens: list[int]) -> list[int]:
        """Take in a new token for each row of the last plan; return the requests that ended."""
        raise NotImplementedError("scheduler: Scheduler.commit")

    def output(self, request: int) -> list[int]:
        """Return the new tokens of a request so far, without an EOS."""
        raise NotImplementedError("scheduler: Scheduler.output")
