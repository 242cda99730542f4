"""Caches are plain lists with an entry for each token; loops over rows, heads and pairs."""

import math
from typing import Any

import torch
from torch import Tensor

Update = tuple[Tensor, Tensor, Tensor, Tensor]
Cache = Any


def rope_frequencies(dim: int, theta: float, scaling: dict | None = None) -> Tensor:
    return torch.tensor([_frequency(2 * i / dim, theta, scaling) for i in range(dim // 2)])


def _frequency(exponent: float, theta: float, scaling: dict | None) -> float:
    plain = math.pow(theta, -exponent)
    if scaling is None:
        return plain
    wavelength = 2 * math.pi / plain
    turns = scaling["original_max_position_embeddings"] / wavelength
    if turns >= scaling["high_freq_factor"]:
        return plain
    if turns <= scaling["low_freq_factor"]:
        return plain / scaling["factor"]
    span = scaling["high_freq_factor"] - scaling["low_freq_factor"]
    share = (turns - scaling["low_freq_factor"]) / span
    return plain * share + plain / scaling["factor"] * (1 - share)


def rotate(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    out = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    for row in range(x.shape[0]):
        for i in range(half):
            angle = positions[row].float() * frequencies[i]
            one, two = x[row, :, :, i].float(), x[row, :, :, half + i].float()
            out[row, :, :, i] = one * torch.cos(angle) - two * torch.sin(angle)
            out[row, :, :, half + i] = one * torch.sin(angle) + two * torch.cos(angle)
    return out.type_as(x)


class TokenList:
    def __init__(self) -> None:
        self.tokens: list[tuple[Tensor, Tensor, Tensor]] = []

    def extend(self, k: Tensor, v: Tensor, positions: Tensor) -> None:
        parts = zip(k.unbind(2), v.unbind(2), positions.unbind(1), strict=True)
        self.tokens.extend(tuple(piece.clone() for piece in part) for part in parts)

    def stacked(self) -> tuple[Tensor, Tensor, Tensor]:
        k, v, positions = zip(*self.tokens, strict=True)
        return torch.stack(k, 2), torch.stack(v, 2), torch.stack(positions, 1)


class PostRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies, self.store = frequencies, TokenList()

    @property
    def length(self) -> int:
        return len(self.store.tokens)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        self.store.extend(rotate(k, positions, self.frequencies), v, positions)
        return *self.store.stacked(), positions.clone()


class PreRopeCache:
    def __init__(self, frequencies: Tensor) -> None:
        self.frequencies, self.store = frequencies, TokenList()

    @property
    def length(self) -> int:
        return len(self.store.tokens)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        self.store.extend(k, v, positions)
        raw, values, places = self.store.stacked()
        return rotate(raw, places, self.frequencies), values, places, positions.clone()


def attend(
    q: Tensor, k: Tensor, v: Tensor, positions: Tensor, cache: Cache, frequencies: Tensor
) -> Tensor:
    keys, values, key_positions, query_positions = cache.update(k, v, positions)
    turned, share = rotate(q, query_positions, frequencies), q.shape[1] // keys.shape[1]
    rows = []
    for row in range(q.shape[0]):
        seen = key_positions[row] <= query_positions[row].unsqueeze(1)
        heads = []
        for head in range(q.shape[1]):
            scores = turned[row, head].float() @ keys[row, head // share].float().t()
            scores = (scores / math.sqrt(q.shape[-1])).masked_fill(seen.logical_not(), -math.inf)
            heads.append(torch.softmax(scores, 1) @ values[row, head // share].float())
        rows.append(torch.stack(heads))
    return torch.stack(rows).to(q.dtype)


class SinkCache:
    def __init__(self, frequencies: Tensor, sinks: int, window: int) -> None:
        self.frequencies, self.store = frequencies, TokenList()
        self.sinks, self.window = sinks, window

    @property
    def length(self) -> int:
        return len(self.store.tokens)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        if k.shape[2] > self.window:
            raise ValueError("the window is smaller than k")
        self.store.extend(k, v, positions)
        while self.length > self.sinks + self.window:
            self.store.tokens.pop(self.sinks)
        raw, values, _ = self.store.stacked()
        places = torch.stack([torch.arange(self.length, device=k.device)] * k.shape[0])
        queries = places[:, self.length - k.shape[2] :].clone()
        return rotate(raw, places, self.frequencies), values, places, queries
