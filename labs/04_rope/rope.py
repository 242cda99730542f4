"""Lab 04: rotary positions, and an attention that does not know its cache.

Letters: B sequences, T new tokens, S context positions, H query heads, G key/value heads (H is a
multiple of G), D head width (even). Positions are data: each row of a batch has its own; they may
repeat, jump, and come in any order. Work from top to bottom.
"""

from typing import Any

from torch import Tensor

# keys (rotated) [B,G,S,D], values [B,G,S,D], key_positions int64 [B,S], query_positions int64 [B,T]
Update = tuple[Tensor, Tensor, Tensor, Tensor]

# Any object with update(k, v, positions) -> Update, and length. There is no list of its classes.
Cache = Any


# --- Task 1: frequencies ---------------------------------------------------------------------


def rope_frequencies(
    dim: int,  # D
    theta: float,
    scaling: dict | None = None,  # Llama 3.1: the keys are those of Hugging Face's config
) -> Tensor:  # float32 [D/2]
    """Return by how much each pair turns per position: theta ** (-2i / D), scaled if asked."""
    raise NotImplementedError("frequencies: rope_frequencies")


# --- Task 2: rotate --------------------------------------------------------------------------


def rotate(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # int64 [B, T], >= 0
    frequencies: Tensor,  # float32 [D/2]
) -> Tensor:  # [B, H, T, D], the dtype of x
    """Turn each pair (i, i + D/2) by position * frequency; the angles are float32."""
    raise NotImplementedError("rotate: rotate")


# --- Task 3: caches --------------------------------------------------------------------------


class PostRopeCache:
    """Rotate each key once, when it comes, and store the rotated key."""

    length: int  # tokens stored so far

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        raise NotImplementedError("caches: PostRopeCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D], not rotated
        v: Tensor,  # [B, G, T, D]
        positions: Tensor,  # int64 [B, T]
    ) -> Update:
        """Add T tokens; return all S keys (rotated), values and key positions, and ``positions``.

        Tokens stay in the order in which they came.
        """
        raise NotImplementedError("caches: PostRopeCache.update")


class PreRopeCache:
    """Store each key as it comes, and rotate all of them whenever they are asked for."""

    length: int  # tokens stored so far

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        raise NotImplementedError("caches: PreRopeCache")

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """Do and return what ``PostRopeCache.update`` does and returns."""
        raise NotImplementedError("caches: PreRopeCache.update")


# --- Task 4: attend --------------------------------------------------------------------------


def attend(
    q: Tensor,  # [B, H, T, D], not rotated
    k: Tensor,  # [B, G, T, D], not rotated
    v: Tensor,  # [B, G, T, D]
    positions: Tensor,  # int64 [B, T], for the cache
    cache: Cache,  # any object with these two members; ask it nothing else
    frequencies: Tensor,  # float32 [D/2], for q
) -> Tensor:  # [B, H, T, D]
    """Give k and v to the cache, then attend where key_position <= query_position.

    Both positions, and the S keys and values, are those that ``cache.update`` returns.
    """
    raise NotImplementedError("attend: attend")


# --- Task 5: sink ----------------------------------------------------------------------------


class SinkCache:
    """StreamingLLM: the first ``sinks`` tokens and the last ``window``, numbered anew each time."""

    length: int  # tokens kept

    def __init__(
        self,
        frequencies: Tensor,  # float32 [D/2]
        sinks: int,  # >= 0
        window: int,  # >= 1
    ) -> None:
        raise NotImplementedError("sink: SinkCache")

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """Add T tokens, evict, and return what is left; positions are indices into it.

        ``positions`` are accepted and not used. T > window is a ValueError; nothing has changed.
        """
        raise NotImplementedError("sink: SinkCache.update")
