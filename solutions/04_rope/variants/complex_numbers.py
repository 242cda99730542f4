"""A pair is a complex number; caches grow by doubling; attention has one flat axis of heads."""

from typing import Any

import torch
from torch import Tensor

Update = tuple[Tensor, Tensor, Tensor, Tensor]
Cache = Any


def rope_frequencies(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
    pairs = torch.linspace(0, dim - 2, dim // 2, dtype=torch.float64)
    plain = torch.exp(-pairs / dim * torch.tensor(theta, dtype=torch.float64).log())
    if scaling is not None:
        turns = plain * scaling["original_max_position_embeddings"] / (2 * torch.pi)
        slow = turns < scaling["low_freq_factor"]
        fast = turns > scaling["high_freq_factor"]
        width = scaling["high_freq_factor"] - scaling["low_freq_factor"]
        share = (turns - scaling["low_freq_factor"]) / width
        share[slow], share[fast] = 0.0, 1.0
        plain = torch.lerp(plain / scaling["factor"], plain, share)
    return plain.to(torch.float32)


def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    angles = torch.einsum("bt,i->bti", positions.to(torch.float32), frequencies)
    turn = torch.polar(torch.ones_like(angles), angles)[:, None]
    real, imaginary = x.to(torch.float32).tensor_split(2, dim=-1)
    turned = torch.complex(real, imaginary) * turn
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


class Buffer:
    """Rows behind each other on an axis, with room in advance."""

    def __init__(self, axis: int) -> None:
        self.axis, self.length = axis, 0
        self.room: Tensor | None = None

    def add(self, x: Tensor) -> Tensor:
        new, axis = x.shape[self.axis], self.axis
        if self.room is None or self.length + new > self.room.shape[axis]:
            shape = list(x.shape)
            shape[axis] = 2 * (self.length + new)
            bigger = x.new_empty(shape)
            if self.room is not None:
                bigger.narrow(axis, 0, self.length).copy_(self.filled())
            self.room = bigger
        self.room.narrow(axis, self.length, new).copy_(x)
        self.length += new
        return self.filled()

    def filled(self) -> Tensor:
        return self.room.narrow(self.axis, 0, self.length)


class PostRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies = frequencies
        self.k, self.v, self.places = Buffer(2), Buffer(2), Buffer(1)

    @property
    def length(self) -> int:
        return self.places.length

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        keys = self.k.add(rotate(k, positions, self.frequencies))
        return keys, self.v.add(v), self.places.add(positions), positions


class PreRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies = frequencies
        self.k, self.v, self.places = Buffer(2), Buffer(2), Buffer(1)

    @property
    def length(self) -> int:
        return self.places.length

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        raw, values, places = self.k.add(k), self.v.add(v), self.places.add(positions)
        return rotate(raw, places, self.frequencies), values, places, positions


def attend(
    q: Tensor, k: Tensor, v: Tensor, positions: Tensor, cache: Cache, frequencies: Tensor
) -> Tensor:
    keys, values, key_positions, query_positions = cache.update(k=k, v=v, positions=positions)
    turned = rotate(q, query_positions, frequencies)
    owner = torch.arange(q.shape[1], device=q.device) // (q.shape[1] // keys.shape[1])
    keys, values = keys[:, owner].float(), values[:, owner].float()
    scores = torch.einsum("bhtd,bhsd->bhts", turned.float(), keys) / q.shape[-1] ** 0.5
    seen = query_positions[:, None, :, None] >= key_positions[:, None, None, :]
    scores = torch.where(seen, scores, scores.new_tensor(float("-inf")))
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    summed = torch.einsum("bhts,bhsd->bhtd", weights, values)
    return (summed / weights.sum(-1, keepdim=True)).to(q.dtype)


class SinkCache:
    def __init__(self, frequencies: Tensor, sinks: int, window: int) -> None:
        self.frequencies = frequencies
        self.sinks = sinks
        self.window = window
        self.length = 0
        self.pair: Tensor | None = None  # keys and values, stacked

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        new = k.size(2)
        if new > self.window:
            raise ValueError("k has more tokens than the window")
        pair = torch.stack((k, v))
        if self.pair is not None:
            pair = torch.cat((self.pair, pair), dim=3)
        index = torch.arange(pair.size(3), device=k.device)
        keep = (index < self.sinks) | (index >= pair.size(3) - self.window)
        self.pair = pair[:, :, :, keep]
        self.length = int(keep.sum())
        places = index[: self.length].expand(k.size(0), self.length)
        keys, values = self.pair
        return rotate(keys, places, self.frequencies), values, places, places[:, -new:]
