"""Lab 07: attention that never builds the matrix of scores.

Letters: B sequences, T query rows, S key positions, H query heads, G key/value heads (H is a
multiple of G), D head width. Query head h reads key head h // (H / G). A score is the product of a
query and a key times ``scale``; under ``causal`` the last query sees the last key, so query t sees
the keys up to t + S - T. ``lse`` is the natural logarithm of a row's sum of exp(score), float32.
A row that sees no key has the result 0 and the lse -inf.

Work from top to bottom. Without a GPU, Triton interprets your kernels (TRITON_INTERPRET=1, which
the grader sets): slow, but you can print inside them.
"""

from torch import Tensor

# --- Task 1: merge ---------------------------------------------------------------------------


def merge(
    o1: Tensor,  # [..., T, D]
    lse1: Tensor,  # [..., T] float32
    o2: Tensor,  # [..., T, D]
    lse2: Tensor,  # [..., T] float32
) -> tuple[Tensor, Tensor]:  # o [..., T, D] in the dtype of o1, lse [..., T] float32
    """Join the attention over some keys with the attention over other keys.

    Either side, or both, may have seen no key in a row: lse -inf, result 0.
    """
    raise NotImplementedError("merge: merge")


# --- Task 2: tiled ---------------------------------------------------------------------------


def flash_attention_torch(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    block: int = 64,  # keys in a tile, at most; as many query rows, if you tile these too
) -> tuple[Tensor, Tensor]:  # o [B, H, T, D] in the dtype of q, lse [B, H, T] float32
    """Attend tile by tile with a running softmax, in PyTorch; the scale is D**-0.5.

    Maximum, sum and result are kept in float32. S = 0 is legal.
    """
    raise NotImplementedError("tiled: flash_attention_torch")


# --- Task 3: triton (and speed) --------------------------------------------------------------


def flash_attention(
    q: Tensor,  # [B, H, T, D], D from 1 to 256, any strides
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
    causal: bool = False,
    scale: float | None = None,  # D**-0.5 if None; may be zero or negative
) -> tuple[Tensor, Tensor]:  # o [B, H, T, D] in the dtype of q, lse [B, H, T] float32
    """Attend in one Triton kernel; allocations, views and casts may be torch's."""
    raise NotImplementedError("triton: flash_attention")


# --- Task 4: varlen --------------------------------------------------------------------------


def flash_attention_varlen(
    q: Tensor,  # [total queries, H, D]
    k: Tensor,  # [total keys, G, D]
    v: Tensor,  # [total keys, G, D]
    cu_seqlens_q: Tensor,  # [B + 1] int32: sequence b has the rows cu[b] to cu[b + 1] - 1
    cu_seqlens_k: Tensor,  # [B + 1] int32, the same for keys and values
    causal: bool = False,
) -> Tensor:  # [total queries, H, D] in the dtype of q
    """Attend within each of B sequences that lie one behind the other; the scale is D**-0.5.

    Lengths may be zero on either side. Under ``causal`` a sequence's last query sees its last key.
    """
    raise NotImplementedError("varlen: flash_attention_varlen")
