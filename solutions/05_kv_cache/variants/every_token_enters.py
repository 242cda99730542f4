"""Every new token enters, the last one too; static memory comes with the first update."""

from collections.abc import Callable, Collection

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from labs.common import LlamaConfig
from labs.llama import Cache, Llama


class GrowingCache:
    def __init__(self) -> None:
        self.chunks: list[tuple[Tensor, Tensor]] = []

    @property
    def length(self) -> int:
        return sum(k.shape[2] for k, _ in self.chunks)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.chunks.append((k.clone(), v.clone()))
        return self.joined(0), self.joined(1)

    def joined(self, part: int) -> Tensor:
        return torch.cat([chunk[part] for chunk in self.chunks], dim=2)

    def rewind(self, n: int) -> None:
        left = self.length - n
        if left < 0:
            raise ValueError(f"n = {n} tokens are more than there are")
        if self.chunks:
            self.chunks = [(self.joined(0)[:, :, :left], self.joined(1)[:, :, :left])]


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
        self.shape, self.options = (2, batch, max_len, kv_heads, head_dim), (dtype, device)
        self.memory: Tensor | None = None
        self.length = 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        _, batch, max_len, _, _ = self.shape
        room = max_len - self.length
        if k.shape[2] > room:
            raise ValueError(f"max_len leaves room for {room} tokens, not {k.shape[2]}")
        if batch != k.shape[0]:
            raise ValueError(f"{k.shape[0]} sequences for a batch of {batch}")
        if self.memory is None:
            dtype, device = self.options
            self.memory = torch.zeros(self.shape, dtype=dtype, device=device)
        for memory, x in zip(self.memory, (k, v), strict=True):
            memory[:, self.length : self.length + x.shape[2]] = x.transpose(1, 2)
        self.length += k.shape[2]
        keys, values = self.memory[:, :, : self.length].transpose(2, 3)
        return keys, values

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError(f"n = {n} tokens are more than there are")
        self.length -= n

    def reset(self) -> None:
        self.length = 0


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    # A group's queries side by side along T: one head of keys for all of them, and no copies.
    (batch, heads, new, width), (groups, context) = q.shape, k.shape[1:3]
    own = torch.arange(context - new, context, device=q.device)
    seen = torch.arange(context, device=q.device) <= own[:, None]
    seen = seen.repeat(heads // groups, 1)
    stacked = q.reshape(batch, groups, -1, width)
    out = scaled_dot_product_attention(stacked, k, v, attn_mask=seen)
    return out.reshape(batch, heads, new, width)


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    caches = [make_cache() for _ in range(model.num_layers)]
    places = torch.arange(len(prompt) + max_new_tokens)[None]

    def step(tokens: list[int], start: int) -> int:
        where = places[:, start : start + len(tokens)]
        logits = model(torch.tensor([tokens]), where, caches=caches, attend=attend)
        return int(logits[0, -1].argmax())

    best, output = step(prompt, 0), list[int]()
    while best not in set(eos_ids) and len(output) < max_new_tokens:
        output.append(best)
        best = step([best], len(prompt) + len(output) - 1)
    return output


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    tokens = batch * length * config.num_layers
    return tokens * config.num_kv_heads * config.head_dim * 2 * dtype.itemsize
