"""Lab 05, model answer: two caches behind one interface, and a loop that pays for each token once.

Letters, which end names too (``logits_1TV`` is [1, T, V]): B sequences, T new tokens, S context
positions, H query heads, G key/value heads, D head width, V vocabulary.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor
from torch.nn import functional as F

from labs.common import LlamaConfig
from labs.llama import Cache, Llama


class GrowingCache:
    """All keys and values so far, in memory that is made anew at each update."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def length(self) -> int:
        """Tokens in the cache."""
        return 0 if self._keys is None else self._keys.shape[2]

    def update(
        self,
        k: Tensor,  # [B, G, T, D]
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # [B, G, S, D] x2
        """Add T tokens and return all so far."""
        # A list of one is concatenated too: that copies, so the caller keeps its own memory.
        self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
        self._values = torch.cat([v] if self._values is None else [self._values, v], dim=2)
        return self._keys, self._values

    def rewind(self, n: int) -> None:
        """Drop the last n tokens; ValueError if there are fewer."""
        if n > self.length:
            raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
        if self._keys is not None and self._values is not None:
            left = self.length - n
            self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]


class StaticCache:
    """Room for max_len tokens, made once; what update returns are views of the filled part."""

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        # Nobody sees a position before it is written, so the memory need not be cleared.
        self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
        self._values = torch.empty_like(self._keys)
        self.length = 0

    def update(
        self,
        k: Tensor,  # [B, G, T, D], any dtype
        v: Tensor,  # [B, G, T, D]
    ) -> tuple[Tensor, Tensor]:  # [B, G, S, D] x2, views in the cache's dtype
        """Add T tokens and return all so far; ValueError beyond max_len or for another batch."""
        batch, _, max_len, _ = self._keys.shape
        end = self.length + k.shape[2]
        # Both are asked before anything is written. A batch of 1 would broadcast without a word.
        if k.shape[0] != batch:
            raise ValueError(f"batch: the cache is for {batch} sequences, not {k.shape[0]}")
        if end > max_len:
            raise ValueError(f"max_len is {max_len}, too small for {end} tokens")
        self._keys[:, :, self.length : end] = k
        self._values[:, :, self.length : end] = v
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def rewind(self, n: int) -> None:
        """Drop the last n tokens; ValueError if there are fewer."""
        if n > self.length:
            raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
        self.length -= n

    def reset(self) -> None:
        """Drop all tokens, keep the memory."""
        self.length = 0


def attend(
    q: Tensor,  # [B, H, T, D]
    k: Tensor,  # [B, G, S, D]
    v: Tensor,  # [B, G, S, D]
) -> Tensor:  # [B, H, T, D]
    """Causal attention of the last T of S tokens; query head h reads key head h // (H / G)."""
    new, context = q.shape[2], k.shape[2]
    # is_causal would tie the first query to the first key; with a cache it is last to last.
    causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    """Continue the prompt greedily; each token enters the model once. No prompt, no EOS."""
    caches = [make_cache() for _ in range(model.num_layers)]
    output: list[int] = []
    entering, seen = prompt, 0
    while len(output) < max_new_tokens:
        positions_1T = torch.arange(seen, seen + len(entering))[None]
        logits_1TV = model(torch.tensor([entering]), positions_1T, caches=caches, attend=attend)
        token = int(logits_1TV[0, -1].argmax())
        if token in eos_ids:
            break
        output.append(token)
        entering, seen = [token], seen + len(entering)
    return output


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    """Return the bytes that the caches of all layers hold for ``length`` tokens a sequence."""
    token = 2 * config.num_kv_heads * config.head_dim * dtype.itemsize  # a key and a value
    return config.num_layers * batch * length * token
