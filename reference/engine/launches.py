"""A decode step of one batch size as launches of kernels: what a CUDA graph of the engine holds.

Memory is made once. The step ends where the next begins: its choice is already the next token, its
position one further, so that a graph can be replayed without a word from the host.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
import triton
from torch import Tensor

from reference.engine import codes, kernels, products
from reference.engine.decoder import StaticCache
from reference.engine.weights import GROUP, Layer, Packed, Weight, Weights


@dataclass(frozen=True, slots=True)
class Shape:
    """How one product is cut: see ``vector``, ``vector4`` and ``tile`` for the names."""

    rows: int = 4  # outputs at a time
    warps: int = 4
    steps: int = 1  # of one row
    shares: int = 1  # of a row's codes, one for each of so many warps
    block: int = 64  # inputs at a time, of several rows
    split: int = 1
    stages: int = 4


@dataclass(frozen=True, slots=True)
class Tuning:
    """How all products of a step are cut, and its attention."""

    products: dict[str, Shape] = field(default_factory=dict[str, Shape])
    chunk: int = 256  # places that a program attends to
    keys: int = 64  # and at a time
    warps: int = 4  # of attention
    vector: bool = True  # one row by sums instead of tensor cores
    pdl: bool = True


class KernelStep:
    """One decode step for ``size`` rows; ``launch`` is made of launches alone."""

    def __init__(
        self, weights: Weights, cache: StaticCache, size: int, tuning: Tuning | None = None
    ) -> None:
        tuning = tuning or default_tuning(size)
        self._weights, self._cache, self._size, self._tuning = weights, cache, size, tuning
        f, device = weights.fields, weights.device
        self._pdl = tuning.pdl and device == "cuda"
        wide, heads, groups = f["hidden_size"], f["num_heads"], f["num_kv_heads"]

        def new(*shape: int, dtype: torch.dtype = weights.dtype) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        self.inputs = new(3, size, dtype=torch.int64)  # tokens, positions, slots
        self.inputs[2] = cache.slots
        self.history = new(size, cache.max_len, dtype=torch.int64)
        self.logits = new(size, f["vocab_size"], dtype=torch.float32)
        self._x, self._normed = new(size, wide), new(size, wide)
        self._qkv = new(size, (heads + 2 * groups) * f["head_dim"])
        self._mixed = new(size, heads * f["head_dim"])
        self._hidden = new(size, f["intermediate_size"])
        self._blocks = triton.cdiv(f["vocab_size"], self._shape("head", weights.head).rows)
        self._best = new(size, self._blocks, dtype=torch.float32)
        self._where = new(size, self._blocks, dtype=torch.int32)
        self._heads = max(16, triton.next_power_of_2(heads // groups))
        chunks = triton.cdiv(cache.max_len, tuning.chunk)
        floats = size * groups * chunks * self._heads * (f["head_dim"] + 2)
        self._left = new(floats, dtype=torch.float32)  # by chunks of attention
        self._arrived = new(size * groups, dtype=torch.int32)
        self._parts = new(max(1, self._most_parts()), dtype=torch.float32)  # by shares of products
        self._tiles = new(4096, dtype=torch.int32)

    @property
    def _one(self) -> bool:
        return self._size == 1 and self._tuning.vector

    @property
    def _padded(self) -> int:
        return max(16, triton.next_power_of_2(self._size))

    def _shape(self, kind: str, weight: Weight) -> Shape:
        return self._tuning.products.get(kind) or default_shape(kind, weight, self._size)

    def _most_parts(self) -> int:
        """How many floats of partial sums the product with the most leaves."""
        most, layer = 0, self._weights.layers[0]
        for kind in ("qkv", "out", "gate_up", "down"):
            weight = getattr(layer, kind)
            shape = self._shape(kind, weight)
            tiles = triton.cdiv(weight.shape[0], shape.rows)
            step = 2 * self._padded * shape.rows
            most = max(most, tiles * shape.split * step if shape.split > 1 else 0)
        return most

    def launch(self) -> None:
        """Let the tokens enter, fill ``logits``, choose the next tokens."""
        w, f = self._weights, self._weights.fields
        tokens, positions, _ = self.inputs
        wide = f["hidden_size"]
        options = self._options(4, COLS=triton.next_power_of_2(wide))
        kernels.embed[(self._size,)](tokens, w.embedding, self._x, wide, **options)
        for index, layer in enumerate(w.layers):
            self._layer(index, layer)
        self._product("head", w.head, self._x, self.logits, norm=w.norm, best=True)
        kernels.choose[(self._size,)](
            self._best, self._where, tokens, positions, self.history, self._blocks,
            self._cache.max_len - 1,
            **self._options(4, BLOCK=triton.next_power_of_2(self._blocks)),
        )  # fmt: skip

    def _layer(self, index: int, layer: Layer) -> None:
        self._product("qkv", layer.qkv, self._x, self._qkv, norm=layer.norm)
        self._attend(index)
        self._product("out", layer.out, self._mixed, self._x, add=True)
        self._product("gate_up", layer.gate_up, self._x, self._hidden, layer.mlp_norm, gated=True)
        self._product("down", layer.down, self._hidden, self._x, add=True)

    def _options(self, warps: int, **sizes: Any) -> dict[str, Any]:
        pdl = {"launch_pdl": True} if self._pdl else {}
        return {"PDL": self._pdl, "num_warps": warps, **pdl, **sizes}

    def _attend(self, index: int) -> None:
        w, f, cache, tuning = self._weights, self._weights.fields, self._cache, self._tuning
        heads, groups, width = f["num_heads"], f["num_kv_heads"], f["head_dim"]
        chunks = triton.cdiv(cache.max_len, tuning.chunk)
        options = self._options(
            tuning.warps, H=heads, G=groups, D=width, HEADS=self._heads, CHUNK=tuning.chunk,
            KEYS=tuning.keys,
        )  # fmt: skip
        kernels.attend[chunks, groups, self._size](
            self._qkv, w.cos, w.sin, cache.keys[index], cache.values[index], self.inputs[1],
            self.inputs[2], self._left, self._arrived, self._mixed, cache.max_len, chunks,
            math.log2(math.e) / math.sqrt(width), **options,
        )  # fmt: skip

    def _product(
        self, kind: str, weight: Weight, x: Tensor, out: Tensor, norm: Tensor | None = None,
        add: bool = False, gated: bool = False, best: bool = False,
    ) -> None:  # fmt: skip
        """Launch one product, whose options are those of ``vector``."""
        shape = self._shape(kind, weight)
        num_out, inputs = weight.shape[0] // (2 if gated else 1), weight.shape[1]
        same = self._options(shape.warps, K=inputs, OUTS=num_out, GATED=gated, ADD=add)
        if self._one and summed(weight):
            same |= {"ROWS": shape.rows, "STEPS": shape.steps, "NORM": norm is not None}
            self._vector(weight, x, norm, out, shape, same)
            return
        if norm is not None:
            x = self._normalize(x, norm)
        packed, scale, zero, group = (
            (weight.codes, weight.scale, weight.zero, weight.group)
            if isinstance(weight, Packed) else (weight, x, x, 0)
        )  # fmt: skip
        same |= {
            "GROUP": group, "ROWS": self._padded, "COLS": shape.rows, "BLOCK": shape.block,
            "SPLIT": shape.split, "BEST": best, "STAGES": shape.stages,
        }  # fmt: skip
        products.tile[triton.cdiv(num_out, shape.rows), shape.split](
            x, packed, scale, zero, out, self._best, self._where, self._parts, self._tiles,
            self._size, **same,
        )  # fmt: skip

    def _vector(
        self, weight: Weight, x: Tensor, norm: Tensor | None, out: Tensor, shape: Shape,
        same: dict[str, Any],
    ) -> None:  # fmt: skip
        programs = triton.cdiv(same["OUTS"], shape.rows * shape.steps)
        gain, eps = x if norm is None else norm, self._weights.fields["rms_norm_eps"]
        if isinstance(weight, Packed):
            words = weight.codes.view(torch.int32)
            # Plain floats where the dtype is theirs, and where assembly is not understood.
            halves = x.is_cuda and x.dtype != torch.float32
            same |= {"GROUP": weight.group, "HALVES": halves}
            same |= {"SHARES": shape.shares, "WARPS": shape.warps}
            codes.vector4[(programs,)](x, gain, words, weight.scale, weight.zero, out, eps, **same)
        else:
            block = triton.next_power_of_2(weight.shape[1])
            same |= {"BLOCK": block, "BEST": out is self.logits}
            products.vector[(programs,)](x, gain, weight, out, self._best, self._where, eps, **same)

    def _normalize(self, x: Tensor, norm: Tensor) -> Tensor:
        wide, eps = x.shape[1], self._weights.fields["rms_norm_eps"]
        options = self._options(4, COLS=triton.next_power_of_2(wide))
        kernels.normalize[(self._size,)](x, norm, self._normed, wide, eps, **options)
        return self._normed


def summed(weight: Weight) -> bool:
    """Whether one row is multiplied by sums: else its product is that of many rows."""
    return not isinstance(weight, Packed) or weight.group == GROUP


def default_shape(kind: str, weight: Weight, size: int) -> Shape:
    """Return a cut that any sizes allow, near the best on an H200 for a Llama of a billion."""
    inputs, packed = weight.shape[1], isinstance(weight, Packed)
    one = size == 1 and summed(weight)
    if one and packed:
        of_codes = {"gate_up": Shape(8, 4, 2, 2), "down": Shape(16, 8, 1, 8)}
        return of_codes.get(kind, Shape(8, 4, 1, 2))
    if one and inputs > 4096:
        return Shape(4, 8, 2)
    if one:
        whole = {"gate_up": Shape(1, 1, 4), "head": Shape(4, 4, 4)}
        return whole.get(kind, Shape(2, 1))
    block, split, stages = 64, 1, 6
    if kind == "down":
        split, stages = 4, 8
    elif kind in ("qkv", "out"):
        block, split, stages = 128, 2 if size > 16 else 4, 4
    while split > 1 and inputs % (32 * split):
        split //= 2
    while inputs % (block * split):
        block //= 2
    if isinstance(weight, Packed):
        return Shape(64, 4, 1, 1, max(block, weight.group), split, min(stages, 4))
    # Shared memory holds as many bytes in any dtype.
    return Shape(64, 4, 1, 1, block, split, max(2, stages * 2 // weight.element_size()))


def default_tuning(size: int) -> Tuning:
    """Return how attention is cut: by few rows into many programs."""
    return Tuning(chunk=128, keys=128, warps=8) if size <= 8 else Tuning(chunk=1024, keys=128)
