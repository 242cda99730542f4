"""The prompt enters token by token; positions come from a count; attention by hand in float32."""

import math
from collections.abc import Callable, Collection

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Cache, Llama


class GrowingCache:
    def __init__(self) -> None:
        self.both: Tensor | None = None  # [2, B, G, S, D]

    @property
    def length(self) -> int:
        return self.both.size(3) if self.both is not None else 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        new = torch.stack([k, v])
        self.both = new if self.both is None else torch.cat([self.both, new], dim=3)
        return self.both[0], self.both[1]

    def rewind(self, n: int) -> None:
        if self.length < n:
            raise ValueError("n exceeds the length")
        if n and self.both is not None:
            self.both = self.both[:, :, :, :-n]


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
        options = {"dtype": dtype, "device": device}
        self.k = torch.zeros((batch, kv_heads, max_len, head_dim), **options)
        self.v = torch.zeros((batch, kv_heads, max_len, head_dim), **options)
        self.batch, self.max_len, self.length = batch, max_len, 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if len(k) != self.batch or len(v) != self.batch:
            raise ValueError(f"batch is {len(k)}, not {self.batch}")
        if k.size(2) + self.length > self.max_len:
            raise ValueError(f"max_len {self.max_len} exceeded")
        rows = slice(self.length, self.length + k.size(2))
        self.k[:, :, rows], self.v[:, :, rows] = k.to(self.k.dtype), v.to(self.v.dtype)
        self.length = rows.stop
        return self.k[:, :, : rows.stop], self.v[:, :, : rows.stop]

    def rewind(self, n: int) -> None:
        if self.length < n:
            raise ValueError("n exceeds the length")
        self.length -= n

    def reset(self) -> None:
        self.k.zero_()
        self.v.zero_()
        self.length = 0


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    shared = q.shape[1] // k.shape[1]
    k = k[:, :, None].expand(-1, -1, shared, -1, -1).flatten(1, 2)
    v = v[:, :, None].expand(-1, -1, shared, -1, -1).flatten(1, 2)
    scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(q.shape[-1])
    seen = torch.ones_like(scores, dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    weights = torch.where(seen, scores, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return (weights @ v.float()).to(q.dtype)


@torch.inference_mode()
def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    caches: list[Cache] = []
    for _ in range(model.num_layers):
        caches.append(make_cache())
    sequence = [*prompt]
    for place in range(len(prompt) + max_new_tokens - 1):
        ids, where = torch.tensor([[sequence[place]]]), torch.tensor([[place]])
        logits = model(ids, where, caches=caches, attend=attend)
        if place < len(prompt) - 1:
            continue
        token = int(torch.max(logits[0, 0], dim=0).indices)
        if token in eos_ids:
            break
        sequence.append(token)
    new = sequence[len(prompt) :]
    return new[:max_new_tokens]


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    shape = (batch, config.num_kv_heads, length, config.head_dim)
    return math.prod(shape) * dtype.itemsize * 2 * config.num_layers
