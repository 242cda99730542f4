"""Attention by a log-sum-exp, caches of one list of pairs."""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.llama import Cache, Llama


class GrowingCache:
    def __init__(self) -> None:
        self._tokens: list[Tensor] = []  # [2, B, G, D] each: a key and a value

    @property
    def length(self) -> int:
        return len(self._tokens)

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self._tokens.extend(torch.stack((k, v)).unbind(3))
        keys, values = torch.stack(self._tokens, dim=3)
        return keys, values

    def rewind(self, n: int) -> None:
        if n > len(self._tokens):
            raise ValueError(f"cannot drop n = {n} of {len(self._tokens)} tokens")
        del self._tokens[len(self._tokens) - n :]


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
        self.memory = torch.zeros(2, batch, kv_heads, max_len, head_dim, dtype=dtype, device=device)
        self.reset()

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        sequences, max_len, new = self.memory.shape[1], self.memory.shape[3], k.shape[2]
        if k.shape[0] != sequences:
            raise ValueError(f"batch must be {sequences}")
        if new > max_len - self.length:
            raise ValueError(f"no room for {new} more tokens in max_len = {max_len}")
        room = self.memory.narrow(3, self.length, new)
        room[0].copy_(k)
        room[1].copy_(v)
        self.length += new
        keys, values = self.memory.narrow(3, 0, self.length)
        return keys, values

    def rewind(self, n: int) -> None:
        if self.length < n:
            raise ValueError(f"cannot drop n = {n} of {self.length} tokens")
        self.length -= n

    def reset(self) -> None:
        self.length = 0


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    (batch, heads, new, width), (groups, context) = q.shape, k.shape[1:3]
    grouped = q.reshape(batch, groups, heads // groups, new, width)
    scores = torch.einsum("bghtd,bgsd->bghts", grouped.float(), k.float()) / width**0.5
    own = torch.arange(context - new, context, device=q.device)
    hidden = torch.arange(context, device=q.device) > own[:, None]
    scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    out = torch.einsum("bghts,bgsd->bghtd", weights, v.float())
    return out.reshape(batch, heads, new, width).to(q.dtype)


@torch.no_grad()
def generate(
    model: Llama,
    prompt: list[int],
    max_new_tokens: int,
    eos_ids: Collection[int],
    make_cache: Callable[[], Cache],
) -> list[int]:
    caches = tuple(make_cache() for _ in range(model.num_layers))
    output: list[int] = []
    if max_new_tokens == 0:
        return output

    def best_after(tokens: list[int], start: int) -> int:
        places = torch.arange(start, start + len(tokens)).unsqueeze(0)
        ids = torch.tensor(tokens).unsqueeze(0)
        return int(model(ids, places, caches=caches, attend=attend)[0, -1].argmax())

    token = best_after(prompt, 0)
    while token not in eos_ids:
        output.append(token)
        if len(output) == max_new_tokens:
            break
        token = best_after([token], len(prompt) + len(output) - 1)
    return output


def cache_bytes(config: LlamaConfig, batch: int, length: int, dtype: torch.dtype) -> int:
    numbers = batch * config.num_kv_heads * length * config.head_dim
    return config.num_layers * (numbers + numbers) * torch.empty(0, dtype=dtype).element_size()
