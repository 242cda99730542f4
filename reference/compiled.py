"""Oracle of lab 11: a decode step on a cache of slots, row by row, and plans by trying all.

Letters, which end the names of tensors too (``k_1G1D`` is [1, G, 1, D]): B sequences, S places
read, L layers, H query heads, G key/value heads, D head width, E model width, V vocabulary.
"""

import itertools
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from reference.llama import Config, apply_rope, attention, rms_norm, swiglu


class Slots:
    """Keys and values of all layers, [slots + 1, G, max_len, D] each, in the dtype of the truth."""

    def __init__(self, keys: Sequence[Tensor], values: Sequence[Tensor]) -> None:
        self.keys = [x.clone() for x in keys]
        self.values = [x.clone() for x in values]

    @classmethod
    def zeros(cls, config: Config, slots: int, max_len: int) -> "Slots":
        """Return an empty cache in float64."""
        shape = slots + 1, config.num_kv_heads, max_len, config.head_dim
        several = [torch.zeros(shape, dtype=torch.float64) for _ in range(config.num_layers)]
        return cls(several, several)

    def write(
        self, layer: int, slot: int, position: int, k: Tensor, v: Tensor
    ) -> None:  # [G, D] x2
        """Put one token's keys and values into their place."""
        self.keys[layer][slot, :, position] = k
        self.values[layer][slot, :, position] = v


def step(
    config: Config,
    weights: Mapping[str, Tensor],
    cache: Slots,
    tokens: Sequence[int],
    positions: Sequence[int],
    slots: Sequence[int],
) -> Tensor:  # [B, V]
    """Let one token of each row enter; row b reads places 0 to positions[b] of its slot."""
    rows = zip(tokens, positions, slots, strict=True)
    return torch.stack([_row(config, weights, cache, *row) for row in rows])


def _row(
    config: Config,
    weights: Mapping[str, Tensor],
    cache: Slots,
    token: int,
    position: int,
    slot: int,
) -> Tensor:  # [V]
    x = weights["model.embed_tokens.weight"][token].view(1, 1, -1)  # [1, 1, E], as y below
    place = torch.tensor([[position]])
    for layer in range(config.num_layers):
        start = f"model.layers.{layer}."
        w = {
            name.removeprefix(start).removesuffix(".weight"): value
            for name, value in weights.items()
            if name.startswith(start)
        }
        y = rms_norm(x, w["input_layernorm"], config.rms_norm_eps)
        q_1H1D, k_1G1D, v_1G1D = (
            (y @ w[f"self_attn.{name}_proj"].T).view(1, 1, -1, config.head_dim).transpose(1, 2)
            for name in "qkv"
        )
        q_1H1D, k_1G1D = (apply_rope(part, place, config.rope_theta) for part in (q_1H1D, k_1G1D))
        cache.write(layer, slot, position, k_1G1D[0, :, 0], v_1G1D[0, :, 0])
        keys_1GSD, values_1GSD = (
            part[layer][slot : slot + 1, :, : position + 1] for part in (cache.keys, cache.values)
        )
        mixed = attention(q_1H1D, keys_1GSD, values_1GSD).transpose(1, 2).flatten(2)
        x = x + mixed @ w["self_attn.o_proj"].T
        y = rms_norm(x, w["post_attention_layernorm"], config.rms_norm_eps)
        x = x + swiglu(y, w["mlp.gate_proj"], w["mlp.up_proj"], w["mlp.down_proj"])
    x = rms_norm(x, weights["model.norm.weight"], config.rms_norm_eps)
    tied = config.tie_word_embeddings
    return (x @ weights["model.embed_tokens.weight" if tied else "lm_head.weight"].T)[0, 0]


def padded_rows(histogram: Mapping[str, int], sizes: Sequence[int]) -> int | None:
    """Return how many rows of padding all steps have together; None if one fits no size."""
    total = 0
    for rows, times in histogram.items():
        fitting = [size for size in sizes if size >= int(rows)]
        if not fitting:
            return None
        total += times * (min(fitting) - int(rows))
    return total


def fewest_padded_rows(histogram: Mapping[str, int], count: int) -> int:
    """Return the least that ``count`` sizes can do, by trying all sets of sizes that occur.

    A size that no step has could be made smaller: to one that a step has.
    """
    occurring = [int(rows) for rows in histogram]
    plans = (
        padded_rows(histogram, sizes)
        for several in range(min(count, len(occurring)) + 1)
        for sizes in itertools.combinations(occurring, several)
    )
    return min(padded for padded in plans if padded is not None)
