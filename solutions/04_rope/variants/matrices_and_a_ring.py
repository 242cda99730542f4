"""Rotation by [D, D] matrices; one base class for caches; a ring buffer behind the sinks."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

Cache = Any


class Update(NamedTuple):
    keys: Tensor
    values: Tensor
    key_positions: Tensor
    query_positions: Tensor


def rope_frequencies(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
    plain = np.power(float(theta), -np.arange(dim // 2) * 2.0 / dim)
    if scaling:
        turns = plain * scaling["original_max_position_embeddings"] / (2 * np.pi)
        bounds = [scaling["low_freq_factor"], scaling["high_freq_factor"]]
        plain = plain * np.interp(turns, bounds, [1 / scaling["factor"], 1.0])
    return torch.from_numpy(plain.astype(np.float32))


def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    angles = positions.float().unsqueeze(-1).mul(frequencies)
    cos, sin = torch.diag_embed(angles.cos()), torch.diag_embed(angles.sin())
    matrix = torch.cat((torch.cat((cos, sin), -1), torch.cat((-sin, cos), -1)), -2)
    return (x.float().unsqueeze(-2) @ matrix.unsqueeze(1)).squeeze(-2).to(x.dtype)


class Chunks:
    """What came in, chunk by chunk."""

    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies = frequencies
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self.positions: list[Tensor] = []

    @property
    def length(self) -> int:
        return sum(chunk.shape[1] for chunk in self.positions)

    def before(self, k: Tensor, positions: Tensor) -> Tensor:
        return k

    def after(self, k: Tensor, positions: Tensor) -> Tensor:
        return k

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        self.keys.append(self.before(k, positions))
        self.values.append(v)
        self.positions.append(positions)
        turned = map(self.after, self.keys, self.positions)
        places = torch.hstack(self.positions)
        return Update(torch.cat(list(turned), 2), torch.cat(self.values, 2), places, positions)


class PostRopeCache(Chunks):
    def before(self, k: Tensor, positions: Tensor) -> Tensor:
        return rotate(k, positions, self.frequencies)


class PreRopeCache(Chunks):
    def after(self, k: Tensor, positions: Tensor) -> Tensor:
        return rotate(k, positions, self.frequencies)


def attend(
    q: Tensor, k: Tensor, v: Tensor, positions: Tensor, cache: Cache, frequencies: Tensor
) -> Tensor:
    update = cache.update(k, v, positions)
    keys, values, key_positions, query_positions = update
    batch, heads, new, width = q.shape
    groups = keys.shape[1]
    turned = rotate(q, query_positions, frequencies) * width**-0.5
    flat = turned.reshape(batch * groups, heads // groups * new, width)
    scores = torch.bmm(flat, keys.flatten(0, 1).mT).view(batch, heads, new, -1).float()
    late = torch.lt(query_positions[..., None], key_positions[:, None])[:, None]
    bias = torch.zeros(late.shape, device=q.device).masked_fill_(late, float("-inf"))
    weights = (scores + bias).log_softmax(-1).exp().to(values.dtype)
    mixed = torch.bmm(weights.view(batch * groups, -1, keys.shape[2]), values.flatten(0, 1))
    return mixed.view(batch, heads, new, width)


class SinkCache:
    def __init__(self, frequencies: Tensor, sinks: int, window: int) -> None:
        self.frequencies, self.sinks, self.window = frequencies, sinks, window
        self.seen = 0
        self.slots: list[tuple[Tensor, Tensor]] = []  # sinks, then a ring

    @property
    def length(self) -> int:
        return min(self.seen, self.sinks + self.window)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        new = positions.shape[-1]
        if new > self.window:
            raise ValueError(f"T = {new} exceeds window = {self.window}")
        for t in range(new):
            token = k[:, :, t].clone(), v[:, :, t].clone()
            if self.seen < self.sinks + self.window:
                self.slots.append(token)
            else:
                self.slots[self.sinks + (self.seen - self.sinks) % self.window] = token
            self.seen += 1
        start = (self.seen - self.sinks) % self.window if self.length < self.seen else 0
        ring = self.slots[self.sinks :]
        kept = self.slots[: self.sinks] + ring[start:] + ring[:start]
        keys, values = (torch.stack(part, 2) for part in zip(*kept, strict=True))
        places = torch.arange(len(kept), device=k.device).expand(k.shape[0], -1)
        turned = rotate(keys, places, self.frequencies)
        return Update(turned, values, places, places[:, -new:])
