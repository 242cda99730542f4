"""Static memory with tokens first, a loop over heads, greedy tokens from an iterator."""

import itertools
from collections.abc import Callable, Collection, Iterator

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Cache, Llama


class GrowingCache:
    def __init__(self) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self.length = 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        for kept, x in ((self.keys, k), (self.values, v)):
            kept.append(x.detach().clone())
            if len(kept) > 1:
                kept[:] = [torch.cat(kept, dim=-2)]
        self.length += k.shape[-2]
        return self.keys[0], self.values[0]

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError(f"rewind by n = {n}, {self.length} held")
        self.length -= n
        for kept in (self.keys, self.values):
            kept[:] = [x.narrow(2, 0, self.length) for x in kept]


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
        # Tokens outermost: what is filled is contiguous, and the views are transposed.
        shape = (max_len, batch, kv_heads, head_dim)
        self.buffers = [torch.empty(shape, dtype=dtype, device=device) for _ in range(2)]
        self.length = 0

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        max_len, batch = self.buffers[0].shape[:2]
        if k.shape[0] != batch:
            raise ValueError(f"expected a batch of {batch}")
        if self.length + k.shape[2] > max_len:
            raise ValueError("more tokens than max_len")
        for buffer, x in zip(self.buffers, (k, v), strict=True):
            for i, token in enumerate(x.unbind(2), self.length):
                buffer[i] = token
        self.length += k.shape[2]
        keys, values = (buffer[: self.length].permute(1, 2, 0, 3) for buffer in self.buffers)
        return keys, values

    def rewind(self, n: int) -> None:
        if n > self.length:
            raise ValueError(f"rewind by n = {n}, {self.length} held")
        self.length = self.length - n

    def reset(self) -> None:
        self.length = 0


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    heads, new, context = q.shape[1], q.shape[2], k.shape[2]
    bias = torch.zeros(new, context, device=q.device)
    bias += torch.full_like(bias, -torch.inf).triu(context - new + 1)
    out = torch.empty_like(q)
    for h in range(heads):
        g = h * k.shape[1] // heads
        scores = q[:, h].float() @ k[:, g].float().mT * q.shape[3] ** -0.5 + bias
        out[:, h] = scores.softmax(-1).to(v.dtype) @ v[:, g]
    return out


def greedy(model: Llama, prompt: list[int], caches: list[Cache]) -> Iterator[int]:
    """Yield one token after another, for ever."""
    token, done = prompt, 0
    while True:
        places = torch.arange(len(token), dtype=torch.int64) + done
        ids = torch.tensor(token, dtype=torch.int64)
        logits = model(ids[None], positions=places[None], caches=caches, attend=attend)
        done += len(token)
        token = logits[0, -1:].argmax(-1).tolist()
        yield token[0]


def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    tokens = greedy(model, prompt, [make_cache() for _ in range(model.num_layers)])
    until_eos = itertools.takewhile(lambda token: token not in eos_ids, tokens)
    return list(itertools.islice(until_eos, max_new_tokens))


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    one = torch.empty(config.num_kv_heads, config.head_dim, dtype=dtype, device="meta")
    return 2 * one.nbytes * length * batch * config.num_layers
