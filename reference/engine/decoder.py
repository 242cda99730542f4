"""A Llama whose weights are laid out for decoding: joined projections, a table of rotations.

Letters: B sequences, T new tokens, S places of the cache that a step looks at, H query heads, G
key/value heads, D head width, E model width, F feed-forward width, V vocabulary, L layers.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from reference.engine.weights import Layer, Weights, linear


class StaticCache:
    """Keys and values of ``slots`` sequences, made once; slot ``slots`` is scratch."""

    def __init__(
        self, fields: dict[str, Any], slots: int, max_len: int, dtype: torch.dtype, device: str
    ) -> None:
        self.slots, self.max_len = slots, max_len
        shape = slots + 1, fields["num_kv_heads"], max_len, fields["head_dim"]
        layers = range(fields["num_layers"])
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in layers]


class Decoder:
    """Logits of new tokens, with all that came before in a ``StaticCache``."""

    def __init__(self, weights: Weights) -> None:
        self.weights, self.fields = weights, weights.fields
        # In the dtype of queries and keys, for both halves of a head.
        self._cos = torch.cat((weights.cos, weights.cos), 1).to(weights.dtype)  # [max_len, D]
        self._sin = torch.cat((weights.sin, weights.sin), 1).to(weights.dtype)

    def step(
        self, cache: StaticCache, tokens: Tensor, positions: Tensor, slots: Tensor, reach: int
    ) -> Tensor:  # int64 [B] x3 -> logits [B, V]
        """Let one token of each sequence enter; ``reach`` is more than any position."""
        x = self.weights.embedding[tokens]
        cos, sin = self._cos[positions].unsqueeze(1), self._sin[positions].unsqueeze(1)
        places = torch.arange(reach, device=tokens.device)
        mask = (places <= positions.unsqueeze(-1))[:, None, None]  # [B, 1, 1, S]
        for layer, keys, values in zip(self.weights.layers, cache.keys, cache.values, strict=True):
            x = x + self._attend(layer, x, keys, values, (cos, sin, mask), positions, slots, reach)
            x = x + self._mlp(layer, x)
        return self.logits(x)

    def _attend(
        self,
        layer: Layer,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        places: tuple[Tensor, Tensor, Tensor],
        positions: Tensor,
        slots: Tensor,
        reach: int,
    ) -> Tensor:  # [B, E] -> [B, E]
        cos, sin, mask = places
        q, k, v = self._qkv(layer, x)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        keys[slots, :, positions] = k
        values[slots, :, positions] = v
        mine = keys[slots, :, :reach], values[slots, :, :reach]  # [B, G, S, D]
        batch, groups = len(x), keys.shape[1]
        q = q.reshape(batch, groups, -1, q.shape[-1])
        mixed = F.scaled_dot_product_attention(q, *mine, attn_mask=mask)
        return linear(mixed.reshape(batch, -1), layer.out)

    def _qkv(self, layer: Layer, x: Tensor) -> tuple[Tensor, ...]:
        """Return q [B,H,D], k and v [B,G,D] of normed tokens, not yet rotated."""
        heads, groups = self.fields["num_heads"], self.fields["num_kv_heads"]
        joined = linear(self._rms(x, layer.norm), layer.qkv)
        split = joined.unflatten(-1, (-1, self.fields["head_dim"]))
        return split.split((heads, groups, groups), dim=-2)

    def _mlp(self, layer: Layer, x: Tensor) -> Tensor:
        gate, up = linear(self._rms(x, layer.mlp_norm), layer.gate_up).chunk(2, dim=-1)
        return linear(F.silu(gate) * up, layer.down)

    def _rms(self, x: Tensor, weight: Tensor) -> Tensor:
        wide = x.float()
        mean = wide.square().mean(-1, keepdim=True)
        return weight * (wide * torch.rsqrt(mean + self.fields["rms_norm_eps"])).to(x.dtype)

    def extend(
        self, cache: StaticCache, tokens: Tensor, positions: Tensor, slot: Tensor, reach: int
    ) -> Tensor:  # int64 [T] x2, [1] -> [T, E], not yet normed
        """Let tokens of one sequence enter; ``reach`` is more than any position."""
        x = self.weights.embedding[tokens]
        cos, sin = self._cos[positions].unsqueeze(1), self._sin[positions].unsqueeze(1)
        mask = torch.arange(reach, device=tokens.device) <= positions.unsqueeze(1)  # [T, S]
        for layer, keys, values in zip(self.weights.layers, cache.keys, cache.values, strict=True):
            q, k, v = self._qkv(layer, x)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            keys[slot, :, positions] = k
            values[slot, :, positions] = v
            mixed = F.scaled_dot_product_attention(
                q.transpose(0, 1).unsqueeze(0),
                keys[slot, :, :reach],
                values[slot, :, :reach],
                attn_mask=mask,
                enable_gqa=True,
            )
            x = x + linear(mixed[0].transpose(0, 1).flatten(1), layer.out)
            x = x + self._mlp(layer, x)
        return x

    def logits(self, x: Tensor) -> Tensor:  # [..., E] -> float32 [..., V]
        """Norm what the last layer has left, and multiply with the head."""
        return linear(self._rms(x, self.weights.norm), self.weights.head).float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:  # [B,*,D], [B,1,D] x2 -> [B,*,D]
    """Turn each pair (i, i + D/2) by its angle."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin
