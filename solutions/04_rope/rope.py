"""Lab 04, model answer: a cache says what the keys are and where; attend believes it.

A shape without a comment ends its name: ``hidden_BTS`` is [B, T, S].
"""

import math
from typing import Any

import torch
from torch import Tensor

# keys (rotated) [B,G,S,D], values [B,G,S,D], key_positions int64 [B,S], query_positions int64 [B,T]
Update = tuple[Tensor, Tensor, Tensor, Tensor]

# Any object with update(k, v, positions) -> Update, and length. There is no list of its classes.
Cache = Any


def rope_frequencies(
    dim: int,  # D
    theta: float,
    scaling: dict | None = None,  # Llama 3.1: the keys are those of Hugging Face's config
) -> Tensor:  # float32 [D/2]
    """Return by how much each pair turns per position: theta ** (-2i / D), scaled if asked."""
    # In float64: a relative error of 1e-7 in a frequency is an angle of 0.01 at position 100,000.
    plain = theta ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    if not scaling:
        return plain.float()
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    turns = plain * scaling["original_max_position_embeddings"] / (2 * math.pi)
    # 1: fast pairs have seen whole turns in training and stay; 0: slow ones are stretched.
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return (plain * (keep + (1 - keep) / scaling["factor"])).float()


def rotate(
    x: Tensor,  # [B, H, T, D]
    positions: Tensor,  # int64 [B, T], >= 0
    frequencies: Tensor,  # float32 [D/2]
) -> Tensor:  # [B, H, T, D], the dtype of x
    """Turn each pair (i, i + D/2) by position * frequency; the angles are float32."""
    angles = positions[:, None, :, None].float() * frequencies.float()  # [B, 1, T, D/2]
    cos, sin = angles.cos(), angles.sin()
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)


class PostRopeCache:
    """Rotate each key once, when it comes, and store the rotated key."""

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        self.frequencies = frequencies
        self.length = 0
        self.stored: tuple[Tensor, ...] = ()  # keys, values, positions

    def update(
        self,
        k: Tensor,  # [B, G, T, D], not rotated
        v: Tensor,  # [B, G, T, D]
        positions: Tensor,  # int64 [B, T]
    ) -> Update:
        """Add T tokens; return all S keys (rotated), values and key positions, and ``positions``.

        Tokens stay in the order in which they came.
        """
        self.length += k.shape[2]
        self.stored = _append(self.stored, rotate(k, positions, self.frequencies), v, positions)
        keys, values, places = self.stored
        return keys, values, places, positions


class PreRopeCache:
    """Store each key as it comes, and rotate all of them whenever they are asked for."""

    def __init__(self, frequencies: Tensor) -> None:  # float32 [D/2]
        self.frequencies = frequencies
        self.length = 0
        self.stored: tuple[Tensor, ...] = ()  # keys, values, positions

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """Do and return what ``PostRopeCache.update`` does and returns."""
        self.length += k.shape[2]
        self.stored = _append(self.stored, k, v, positions)
        keys, values, places = self.stored
        return rotate(keys, places, self.frequencies), values, places, positions


def _append(stored: tuple[Tensor, ...], *new: Tensor) -> tuple[Tensor, ...]:
    """Put copies behind keys, values and positions: the caller's tensors stay the caller's."""
    if not stored:
        return tuple(x.clone() for x in new)
    axes = -2, -2, -1
    return tuple(torch.cat(pair, axis) for *pair, axis in zip(stored, new, axes, strict=True))


def attend(
    q: Tensor,  # [B, H, T, D], not rotated
    k: Tensor,  # [B, G, T, D], not rotated
    v: Tensor,  # [B, G, T, D]
    positions: Tensor,  # int64 [B, T], for the cache
    cache: Cache,  # any object with these two members; ask it nothing else
    frequencies: Tensor,  # float32 [D/2], for q
) -> Tensor:  # [B, H, T, D]
    """Give k and v to the cache, then attend where key_position <= query_position.

    Both positions, and the S keys and values, are those that ``cache.update`` returns.
    """
    keys, values, key_positions, query_positions = cache.update(k, v, positions)
    grouped = rotate(q, query_positions, frequencies).unflatten(1, (keys.shape[1], -1))
    scores = (grouped @ keys.unsqueeze(2).mT).float() * q.shape[-1] ** -0.5  # [B, G, H/G, T, S]
    hidden_BTS = key_positions[:, None, :] > query_positions[:, :, None]
    weights = scores.masked_fill(hidden_BTS[:, None, None], -math.inf).softmax(-1).to(values.dtype)
    return (weights @ values.unsqueeze(2)).flatten(1, 2)


class SinkCache:
    """StreamingLLM: the first ``sinks`` tokens and the last ``window``, numbered anew each time."""

    def __init__(
        self,
        frequencies: Tensor,  # float32 [D/2]
        sinks: int,  # >= 0
        window: int,  # >= 1
    ) -> None:
        self.frequencies, self.sinks, self.window = frequencies, sinks, window
        self.length = 0

    def update(self, k: Tensor, v: Tensor, positions: Tensor) -> Update:
        """Add T tokens, evict, and return what is left; positions are indices into it.

        ``positions`` are accepted and not used. T > window is a ValueError; nothing has changed.
        """
        rows, new = positions.shape
        if new > self.window:
            raise ValueError(f"k holds {new} tokens, more than the window of {self.window}")
        if self.length:
            k, v = torch.cat((self.keys, k), dim=2), torch.cat((self.values, v), dim=2)
        evicted = max(0, k.shape[2] - self.sinks - self.window)
        kept = [*range(min(self.sinks, k.shape[2])), *range(self.sinks + evicted, k.shape[2])]
        # Indexing copies. Keys stay un-rotated, for an eviction moves all that are behind it.
        self.keys, self.values, self.length = k[:, :, kept], v[:, :, kept], len(kept)
        places = torch.arange(self.length, device=k.device).repeat(rows, 1)
        keys = rotate(self.keys, places, self.frequencies)
        return keys, self.values, places, places[:, -new:]
