"""By logarithms, all in float32: frequencies as powers of e, weights from a log-sum-exp."""

import math
from typing import Any

import torch
from torch import Tensor

Update = tuple[Tensor, Tensor, Tensor, Tensor]
Cache = Any


def rope_frequencies(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
    plain = torch.exp(-math.log(theta) * (torch.arange(0, dim, 2).float() / dim))
    if not scaling:
        return plain
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = plain * scaling["original_max_position_embeddings"] / (2 * math.pi)
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return plain * (keep + (1 - keep) / scaling["factor"])


def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    angles = positions[:, None, :, None].float() * frequencies.float()
    cos, sin = angles.cos(), angles.sin()
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)


def append(stored: tuple[Tensor, ...], *new: Tensor) -> tuple[Tensor, ...]:
    if not stored:
        return tuple(x.clone() for x in new)
    axes = -2, -2, -1
    return tuple(torch.cat(pair, axis) for *pair, axis in zip(stored, new, axes, strict=True))


class PostRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies = frequencies
        self.length = 0
        self.stored: tuple[Tensor, ...] = ()

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        self.length += k.shape[2]
        k = rotate(k, positions, self.frequencies)
        self.stored = append(self.stored, k, v, positions)
        keys, values, places = self.stored
        return keys, values, places, positions


class PreRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies = frequencies
        self.length = 0
        self.stored: tuple[Tensor, ...] = ()

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        self.length += k.shape[2]
        self.stored = append(self.stored, k, v, positions)
        keys, values, places = self.stored
        return rotate(keys, places, self.frequencies), values, places, positions


def attend(
    q: Tensor, k: Tensor, v: Tensor, positions: Tensor, cache: Cache, frequencies: Tensor
) -> Tensor:
    keys, values, key_positions, query_positions = cache.update(k, v, positions)
    q = rotate(q, query_positions, frequencies)
    grouped = q.unflatten(1, (keys.shape[1], -1))
    scores = grouped.float() @ keys.float().unsqueeze(2).mT / math.sqrt(q.shape[-1])
    hidden = key_positions[:, None, :] > query_positions[:, :, None]
    scores = scores.masked_fill(hidden[:, None, None], -math.inf)
    weights = torch.exp(scores - scores.logsumexp(-1, keepdim=True))
    return (weights @ values.float().unsqueeze(2)).flatten(1, 2).to(q.dtype)


class SinkCache:
    def __init__(self, frequencies: Tensor, sinks: int, window: int) -> None:
        self.frequencies, self.sinks, self.window = frequencies, sinks, window
        self.length = 0

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        rows, new = positions.shape
        if new > self.window:
            raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
        if self.length:
            k, v = torch.cat((self.keys, k), dim=2), torch.cat((self.values, v), dim=2)
        total = k.shape[2]
        evicted = max(0, total - self.sinks - self.window)
        kept = [*range(min(self.sinks, total)), *range(self.sinks + evicted, total)]
        self.keys, self.values, self.length = k[:, :, kept], v[:, :, kept], len(kept)
        places = torch.arange(self.length, device=k.device).repeat(rows, 1)
        keys = rotate(self.keys, places, self.frequencies)
        return keys, self.values, places, places[:, -new:]
