"""A growing cache that doubles its room, index_copy_, repeated heads, a prompt in chunks of 4."""

from collections.abc import Callable, Collection

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from labs.common import LlamaConfig
from labs.llama import Cache, Llama

CHUNK = 4


class GrowingCache:
    def __init__(self) -> None:
        self.length = 0
        self.room = 0
        self.memory: tuple[Tensor, ...] = ()

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        start, self.length = self.length, self.length + k.shape[2]
        if self.length > self.room:
            self.room = max(self.length, 2 * self.room)
            old = self.memory
            self.memory = tuple(
                x.new_empty(x.shape[0], x.shape[1], self.room, x.shape[3]) for x in (k, v)
            )
            for new_memory, old_memory in zip(self.memory, old, strict=False):
                new_memory[:, :, :start] = old_memory[:, :, :start]
        for memory, x in zip(self.memory, (k, v), strict=True):
            memory[:, :, start : self.length] = x
        keys, values = (memory[:, :, : self.length] for memory in self.memory)
        return keys, values

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError("n is larger than the cache is long")
        self.length -= n


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
        self.batch, self.max_len, self.length = batch, max_len, 0
        size = (batch, kv_heads, max_len, head_dim)
        self.k_memory = torch.full(size, float("nan"), dtype=dtype, device=device)
        self.v_memory = torch.full(size, float("nan"), dtype=dtype, device=device)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        stop = self.length + k.size(2)
        if stop > self.max_len:
            raise ValueError(f"{stop} tokens are more than max_len = {self.max_len}")
        if k.size(0) != self.batch or v.size(0) != self.batch:
            raise ValueError(f"this cache is for a batch of {self.batch}")
        where = torch.arange(self.length, stop, device=self.k_memory.device)
        self.k_memory.index_copy_(2, where, k.to(self.k_memory.dtype))
        self.v_memory.index_copy_(2, where, v.to(self.v_memory.dtype))
        self.length = stop
        return self.k_memory[..., :stop, :], self.v_memory[..., :stop, :]

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError("n is larger than the cache is long")
        self.length -= n

    def reset(self) -> None:
        self.rewind(self.length)


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    shared = q.size(1) // k.size(1)
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    if q.size(2) == 1:  # a single query is the last one: it sees everything
        return scaled_dot_product_attention(q, k, v)
    before = k.size(2) - q.size(2)
    seen = torch.ones(q.size(2), k.size(2), device=q.device).tril(before).bool()
    return scaled_dot_product_attention(q, k, v, attn_mask=seen)


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    tokens = list(prompt)
    caches = [make_cache() for _ in range(model.num_layers)]
    done = 0
    while len(tokens) < len(prompt) + max_new_tokens:
        stop = min(done + CHUNK, len(tokens))
        chunk = torch.tensor([tokens[done:stop]])
        logits = model(chunk, torch.arange(done, stop).view(1, -1), None, caches, attend)
        done = stop
        if done < len(tokens):
            continue
        best = logits[:, -1].argmax(dim=-1).item()
        if best in eos_ids:
            break
        tokens.append(int(best))
    return tokens[len(prompt) :]


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    sizes = (2, config.num_layers, batch, config.num_kv_heads, length, config.head_dim)
    return torch.Size(sizes).numel() * dtype.itemsize
