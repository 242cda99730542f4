"""Lab 05: pay for each token once.

Letters: B sequences, T new tokens, S context positions (all tokens so far, the new ones included),
H query heads, G key/value heads, D head width, V vocabulary.
Given code is in ``labs/common.py`` and ``labs/llama.py``: read ``Attention.forward`` there to see
when a layer calls its cache and ``attend``.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Cache, Llama

# --- Task 1: growing -------------------------------------------------------------------------


class GrowingCache:
    """The keys and values of all tokens so far, however many. ``length`` (int): tokens held."""

    def __init__(self) -> None:
        raise NotImplementedError("growing: GrowingCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D]
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # all keys, all values so far, [B, G, S, D] each
        """Add T tokens; the cache keeps a copy, so k and v remain the caller's to change."""
        raise NotImplementedError("growing: GrowingCache.update")

    def rewind(self, n: int) -> None:
        """Drop the last n tokens; ValueError naming n, and no change, if there are fewer."""
        raise NotImplementedError("growing: GrowingCache.rewind")


# --- Task 2: static --------------------------------------------------------------------------


class StaticCache:
    """The same in memory that is made once, for max_len tokens. ``length`` (int): tokens held."""

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        raise NotImplementedError("static: StaticCache")

    def update(
        self,
        k: Tensor,  # [B, G, T, D], any floating dtype: cast to the cache's
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # views of the filled part, [B, G, S, D] each
        """Add T tokens without allocating.

        Beyond max_len, or with another batch size: ValueError naming max_len or batch, no change.
        """
        raise NotImplementedError("static: StaticCache.update")

    def rewind(self, n: int) -> None:
        """Drop the last n tokens; ValueError naming n, and no change, if there are fewer."""
        raise NotImplementedError("static: StaticCache.rewind")

    def reset(self) -> None:
        """Drop all tokens; the memory stays."""
        raise NotImplementedError("static: StaticCache.reset")


# --- Task 3: attend --------------------------------------------------------------------------


def attend(
    q: Tensor,  # [B, H, T, D], the new tokens
    k: Tensor,  # [B, G, S, D], all tokens so far, the new ones last
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D]
    """Causal attention: the last query sees the last key; head h reads key head h // (H / G).

    Scores, softmax and sums are float32 for every dtype; the result has the dtype of q.
    """
    raise NotImplementedError("attend: attend")


# --- Task 4: generate ------------------------------------------------------------------------


def generate(
    model: Llama,  # model(tokens [1,T], positions [1,T], caches=..., attend=...) -> [1, T, V]
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],  # any of them ends the sequence
    make_cache: Callable[[], Cache],  # makes the cache of one layer; ``model.num_layers`` of them
) -> list[int]:  # the new tokens: no prompt, no EOS
    """Continue the prompt greedily; each token enters the model once."""
    raise NotImplementedError("generate: generate")


# --- Task 5: bytes ---------------------------------------------------------------------------


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    """Return the bytes that the caches of all layers hold for ``length`` tokens a sequence."""
    raise NotImplementedError("bytes: cache_bytes")
