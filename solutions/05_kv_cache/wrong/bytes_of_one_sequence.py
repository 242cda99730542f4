"""Forgets the batch.

Fails: bytes
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor
from torch.nn import functional as F

from labs.common import LlamaConfig
from labs.llama import Cache, Llama


class GrowingCache:
    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self._keys is None else self._keys.shape[2]

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self._keys = torch.cat([k] if self._keys is None else [self._keys, k], dim=2)
        self._values = torch.cat([v] if self._values is None else [self._values, v], dim=2)
        return self._keys, self._values

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
        if self._keys is not None and self._values is not None:
            left = self.length - n
            self._keys, self._values = self._keys[:, :, :left], self._values[:, :, :left]


class StaticCache:
    def __init__(
        self,
        batch: int,
        kv_heads: int,
        max_len: int,
        head_dim: int,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        self._keys = torch.empty(batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
        self._values = torch.empty_like(self._keys)
        self.length = 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        batch, _, max_len, _ = self._keys.shape
        end = self.length + k.shape[2]
        if k.shape[0] != batch:
            raise ValueError(f"batch: the cache is for {batch} sequences, not {k.shape[0]}")
        if end > max_len:
            raise ValueError(f"max_len is {max_len}, too small for {end} tokens")
        self._keys[:, :, self.length : end] = k
        self._values[:, :, self.length : end] = v
        self.length = end
        return self._keys[:, :, :end], self._values[:, :, :end]

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError(f"n is {n}, but the cache holds {self.length} tokens")
        self.length -= n

    def reset(self) -> None:
        self.length = 0


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    new, context = q.shape[2], k.shape[2]
    causal = torch.ones(new, context, dtype=torch.bool, device=q.device).tril(context - new)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=causal, enable_gqa=True)


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    caches = [make_cache() for _ in range(model.num_layers)]
    output: list[int] = []
    entering, seen = prompt, 0
    while len(output) < max_new_tokens:
        positions = torch.arange(seen, seen + len(entering))[None]
        logits = model(torch.tensor([entering]), positions, caches=caches, attend=attend)
        token = int(logits[0, -1].argmax())
        if token in eos_ids:
            break
        output.append(token)
        entering, seen = [token], seen + len(entering)
    return output


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    token = 2 * config.num_kv_heads * config.head_dim * dtype.itemsize
    return config.num_layers * length * token
