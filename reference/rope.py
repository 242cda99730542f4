"""Oracle of lab 04: rotary positions, caches that hold raw keys, and attention by positions.

Fed float64 this is the truth; fed a submission's own dtype it says what that dtype can reach.
Angles are float32 by contract, the product of a float32 position and a float32 frequency, as
Hugging Face computes them: at position 100,000 the product's rounding is part of the answer.

Letters, which end the names of tensors too (``keys_BGSD`` is [B, G, S, D]): B sequences, T new
tokens, S context positions, H query heads, G key/value heads, D head width.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

Update = tuple[Tensor, Tensor, Tensor, Tensor]  # keys, values, key_positions, query_positions


def rope_frequencies(
    dim: int, theta: float, scaling: Mapping[str, float | str] | None = None
) -> Tensor:  # float64 [D/2]
    """Return the angle per position of each pair, arXiv:2104.09864; ``llama3`` as in Llama 3.1."""
    return torch.tensor(
        [scaled(theta ** (-2 * i / dim), scaling) for i in range(dim // 2)], dtype=torch.float64
    )


def scaled(frequency: float, scaling: Mapping[str, float | str] | None) -> float:
    """Return what becomes of a plain frequency: kept, divided, or a blend of both."""
    if not scaling:
        return frequency
    band = turns_of(frequency, scaling)
    low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
    slow = frequency / float(scaling["factor"])
    if band > high:
        return frequency
    if band < low:
        return slow
    share = (band - low) / (high - low)
    return share * frequency + (1 - share) * slow


def turns_of(frequency: float, scaling: Mapping[str, float | str]) -> float:
    """Return how often a pair turns within the context that the model was first trained on."""
    return frequency * float(scaling["original_max_position_embeddings"]) / (2 * math.pi)


def rotate(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # int64 [B, T]
    frequencies: Tensor,  # float32 [D/2]
) -> Tensor:  # [B, H, T, D]
    """Turn pair (x[i], x[i + D/2]) of row b, token t by positions[b, t] * frequencies[i]."""
    wide_BHTD, half = _widen(x), x.shape[-1] // 2
    out_BHTD = torch.empty_like(wide_BHTD)
    for b in range(x.shape[0]):
        for i in range(half):
            angle_T = positions[b].float() * frequencies[i].float()  # rounded to float32
            cos_T, sin_T = angle_T.double().cos(), angle_T.double().sin()
            first_HT, second_HT = wide_BHTD[b, :, :, i], wide_BHTD[b, :, :, i + half]
            out_BHTD[b, :, :, i] = first_HT * cos_T - second_HT * sin_T
            out_BHTD[b, :, :, i + half] = second_HT * cos_T + first_HT * sin_T
    return out_BHTD.to(x.dtype)


class RopeCache:
    """What both caches of the lab must return: all keys, each rotated once by its own position."""

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        self.frequencies = frequencies
        self.raw: list[tuple[Tensor, Tensor, Tensor]] = []

    @property
    def length(self) -> int:
        return sum(k.shape[2] for k, _, _ in self.raw)

    @property
    def raw_keys(self) -> Tensor:  # [B, G, S, D], not rotated
        return torch.cat([k for k, _, _ in self.raw], dim=2)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """Add [B,G,T,D] keys and values at positions [B,T]; return all of them."""
        self.raw.append((k, v, positions))
        values_BGSD = torch.cat([v for _, v, _ in self.raw], dim=2)
        key_positions_BS = torch.cat([places for _, _, places in self.raw], dim=1)
        keys_BGSD = rotate(self.raw_keys, key_positions_BS, self.frequencies)
        return keys_BGSD, values_BGSD, key_positions_BS, positions


class SinkCache:
    """StreamingLLM (arXiv:2309.17453): the whole history is known, and what is kept is chosen."""

    def __init__(self, frequencies: Tensor, sinks: int, window: int) -> None:
        self.frequencies, self.sinks, self.window = frequencies, sinks, window
        self.kept: list[int] = []
        self._history: list[tuple[Tensor, Tensor]] = []  # [B, G, D] keys and values of a token

    @property
    def length(self) -> int:
        return len(self.kept)

    @property
    def raw_keys(self) -> Tensor:  # [B, G, S, D], not rotated
        return torch.stack([self._history[t][0] for t in self.kept], dim=2)

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """Add the tokens, evict, and number what is left from 0; ``positions`` do not matter."""
        rows, new = positions.shape
        if new > self.window:
            raise ValueError(f"{new} tokens do not fit a window of {self.window}")
        self._history += [(k[:, :, t], v[:, :, t]) for t in range(new)]
        total = len(self._history)
        self.kept = [t for t in range(total) if t < self.sinks or t >= total - self.window]
        values_BGSD = torch.stack([self._history[t][1] for t in self.kept], dim=2)
        places_BS = torch.arange(len(self.kept)).repeat(rows, 1)
        keys_BGSD = rotate(self.raw_keys, places_BS, self.frequencies)
        return keys_BGSD, values_BGSD, places_BS, places_BS[:, -new:]


def attend(
    q: Tensor,  # [B, H, T, D], not rotated
    update: Update,  # what a cache returned: keys are rotated
    frequencies: Tensor,  # float32 [D/2]
) -> Tensor:  # [B, H, T, D]
    """Attend where key_position <= query_position, one query of one head at a time."""
    keys_BGSD, values_BGSD, key_positions_BS, query_positions_BT = update
    turned_BHTD = rotate(q, query_positions_BT, frequencies)
    heads, group = q.shape[1], q.shape[1] // keys_BGSD.shape[1]
    out_BHTD = torch.empty_like(_widen(q))
    for b in range(q.shape[0]):
        for h in range(heads):
            g = h // group
            for t in range(q.shape[2]):
                seen_S = key_positions_BS[b] <= query_positions_BT[b, t]
                # A product is stored in the dtype of its factors; float64 changes nothing here.
                products = _widen(keys_BGSD[b, g][seen_S]) @ _widen(turned_BHTD[b, h, t])
                scores = _widen(products.to(q.dtype))
                weights = torch.softmax(scores / math.sqrt(q.shape[-1]), dim=0).to(q.dtype)
                out_BHTD[b, h, t] = _widen(weights) @ _widen(values_BGSD[b, g][seen_S])
    return out_BHTD.to(q.dtype)


def _widen(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
