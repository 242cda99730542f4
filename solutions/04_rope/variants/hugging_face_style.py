"""As in Hugging Face: frequencies in float32, cosines in the dtype of x, rotate_half, repeat_kv."""

import math
from typing import Any

import torch
from torch import Tensor

Update = tuple[Tensor, Tensor, Tensor, Tensor]
Cache = Any


def rope_frequencies(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
    plain = 1.0 / (theta ** (torch.arange(0, dim, 2, dtype=torch.int64).float() / dim))
    if scaling is None:
        return plain
    factor = scaling["factor"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    context = scaling["original_max_position_embeddings"]
    wavelength = 2 * math.pi / plain
    scaled = torch.where(wavelength > context / low, plain / factor, plain)
    smooth = (context / wavelength - low) / (high - low)
    blend = (1 - smooth) * plain / factor + smooth * plain
    between = ~(wavelength < context / high) * ~(wavelength > context / low)
    return torch.where(between, blend, scaled)


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    expanded = frequencies[None, :, None].float().expand(positions.shape[0], -1, 1)
    angles = (expanded @ positions[:, None, :].float()).transpose(1, 2)
    table = torch.cat((angles, angles), dim=-1).unsqueeze(1)
    return x * table.cos().to(x.dtype) + rotate_half(x) * table.sin().to(x.dtype)


class PostRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies = frequencies
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.positions: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        k = rotate(k, positions, self.frequencies)
        if self.keys is None:
            self.keys, self.values, self.positions = k, v, positions
        else:
            self.keys = torch.cat([self.keys, k], dim=-2)
            self.values = torch.cat([self.values, v], dim=-2)
            self.positions = torch.cat([self.positions, positions], dim=-1)
        return self.keys, self.values, self.positions, positions


class PreRopeCache(PostRopeCache):
    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        frequencies, self.frequencies = self.frequencies, torch.zeros_like(self.frequencies)
        keys, values, places, _ = super().update(k, v, positions)  # frequency 0: not rotated
        self.frequencies = frequencies
        return rotate(keys, places, frequencies), values, places, positions


def repeat_kv(x: Tensor, times: int) -> Tensor:
    batch, groups, length, width = x.shape
    x = x[:, :, None, :, :].expand(batch, groups, times, length, width)
    return x.reshape(batch, groups * times, length, width)


def attend(
    q: Tensor, k: Tensor, v: Tensor, positions: Tensor, cache: Cache, frequencies: Tensor
) -> Tensor:
    keys, values, key_positions, query_positions = cache.update(k, v, positions)
    q = rotate(q, query_positions, frequencies)
    times = q.shape[1] // keys.shape[1]
    keys, values = repeat_kv(keys, times), repeat_kv(values, times)
    scores = torch.matmul(q, keys.transpose(2, 3)) / math.sqrt(q.shape[-1])
    lowest = torch.finfo(scores.dtype).min
    mask = torch.where(query_positions[:, :, None] >= key_positions[:, None, :], 0.0, lowest)
    weights = torch.softmax(scores.float() + mask[:, None], dim=-1).to(q.dtype)
    return torch.matmul(weights, values).contiguous()


class SinkCache:
    def __init__(self, frequencies: Tensor, sinks: int, window: int) -> None:
        self.frequencies, self.sinks, self.window = frequencies, sinks, window
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    @property
    def length(self) -> int:
        return 0 if self.keys is None else self.keys.shape[-2]

    def trim(self, x: Tensor) -> Tensor:
        if x.shape[-2] <= self.sinks + self.window:
            return x
        return torch.cat([x[:, :, : self.sinks], x[:, :, -self.window :]], dim=-2)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        if k.shape[-2] > self.window:
            raise ValueError(f"window={self.window} is too small for {k.shape[-2]} tokens")
        if self.keys is not None:
            k, v = torch.cat([self.keys, k], dim=-2), torch.cat([self.values, v], dim=-2)
        self.keys, self.values = self.trim(k), self.trim(v)
        places = torch.arange(self.length, device=k.device)[None].expand(k.shape[0], -1)
        rotated = rotate(self.keys, places, self.frequencies)
        return rotated, self.values, places, places[:, self.length - positions.shape[1] :]
