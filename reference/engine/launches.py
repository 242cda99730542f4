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

from reference.engine import kernels, products
from reference.engine.decoder import StaticCache
from reference.engine.weights import Layer, Packed, Weight, Weights


@dataclass(frozen=True, slots=True)
class Shape:
    """How one product is cut: see ``vector``, ``vector4`` and ``tile`` for the names."""

    rows: int = 4  # outputs of a program
    block: int = 2048  # inputs at a time, for vector4 in groups
    split: int = 1
    warps: int = 4
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

    def __init__(self, weights: Weights, cache: StaticCache, size: int, tuning: Tuning) -> None:
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
        self._x = new(size, wide)
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
            step = 2 * self._padded * shape.rows + self._padded
            most = max(most, tiles * shape.split * step if shape.split > 1 else 0)
        return most

    def launch(self) -> None:
        """Let the tokens enter, fill ``logits``, choose the next tokens."""
        w, f = self._weights, self._weights.fields
        tokens, positions, _ = self.inputs
        options = self._options(4)
        wide = f["hidden_size"]
        cols = triton.next_power_of_2(wide)
        kernels.embed[(self._size,)](tokens, w.embedding, self._x, wide, COLS=cols, **options)
        for index, layer in enumerate(w.layers):
            self._layer(index, layer)
        self._product("head", w.head, self._x, self.logits, norm=w.norm, best=True)
        kernels.choose[(self._size,)](
            self._best, self._where, tokens, positions, self.history, self._blocks,
            self._cache.max_len - 1, BLOCK=triton.next_power_of_2(self._blocks), **options,
        )  # fmt: skip

    def _layer(self, index: int, layer: Layer) -> None:
        self._product("qkv", layer.qkv, self._x, self._qkv, norm=layer.norm)
        self._attend(index)
        self._product("out", layer.out, self._mixed, self._x, add=True)
        self._product("gate_up", layer.gate_up, self._x, self._hidden, layer.mlp_norm, gated=True)
        self._product("down", layer.down, self._hidden, self._x, add=True)

    def _options(self, warps: int) -> dict[str, Any]:
        pdl = {"launch_pdl": True} if self._pdl else {}
        return {"PDL": self._pdl, "num_warps": warps, **pdl}

    def _attend(self, index: int) -> None:
        w, f, cache, tuning = self._weights, self._weights.fields, self._cache, self._tuning
        heads, groups, width = f["num_heads"], f["num_kv_heads"], f["head_dim"]
        chunks = triton.cdiv(cache.max_len, tuning.chunk)
        kernels.attend[chunks, groups, self._size](
            self._qkv, w.cos, w.sin, cache.keys[index], cache.values[index], self.inputs[1],
            self.inputs[2], self._left, self._arrived, self._mixed, cache.max_len, chunks,
            math.log2(math.e) / math.sqrt(width), H=heads, G=groups, D=width, HEADS=self._heads,
            CHUNK=tuning.chunk, KEYS=tuning.keys, **self._options(tuning.warps),
        )  # fmt: skip

    def _product(
        self, kind: str, weight: Weight, x: Tensor, out: Tensor, norm: Tensor | None = None,
        add: bool = False, gated: bool = False, best: bool = False,
    ) -> None:  # fmt: skip
        """Launch one product, whose options are those of ``vector``."""
        shape, eps = self._shape(kind, weight), self._weights.fields["rms_norm_eps"]
        gain = x if norm is None else norm
        num_out, inputs = weight.shape[0] // (2 if gated else 1), weight.shape[1]
        packed = isinstance(weight, Packed)
        tiles = triton.cdiv(num_out, shape.rows)
        same: dict[str, Any] = {
            "K": inputs, "O": num_out, "NORM": norm is not None, "GATED": gated, "ADD": add,
        } | self._options(shape.warps)  # fmt: skip
        if self._one and packed:
            words = weight.codes.view(torch.int32)
            products.vector4[(tiles,)](
                x, gain, words, weight.scale, weight.zero, out, eps, GROUP=weight.group,
                ROWS=shape.rows, GROUPS=shape.block, **same,
            )  # fmt: skip
        elif self._one:
            products.vector[(tiles,)](
                x, gain, weight, out, self._best, self._where, eps, ROWS=shape.rows,
                BLOCK=shape.block, BEST=best, **same,
            )  # fmt: skip
        else:
            codes, scale, zero, group = (
                (weight.codes, weight.scale, weight.zero, weight.group)
                if packed else (weight, gain, gain, 0)
            )  # fmt: skip
            products.tile[tiles, shape.split](
                x, gain, codes, scale, zero, out, self._best, self._where, self._parts, self._tiles,
                self._size, eps, GROUP=group, ROWS=self._padded, COLS=shape.rows,
                BLOCK=shape.block, SPLIT=shape.split, BEST=best, STAGES=shape.stages, **same,
            )  # fmt: skip


def default_shape(kind: str, weight: Weight, size: int) -> Shape:
    """Return a cut that any sizes allow, near the best for a Llama of a billion."""
    inputs = weight.shape[1]
    if size == 1:
        if isinstance(weight, Packed):
            return Shape(4, min(64, triton.next_power_of_2(inputs // weight.group)))
        return Shape(4, min(2048, triton.next_power_of_2(inputs)))
    block = 64
    while inputs % block:
        block //= 2
    if isinstance(weight, Packed):
        block = max(block, weight.group)
    outs = 64 if kind in ("gate_up", "head") else 32
    split = 1
    while kind not in ("gate_up", "head") and split < 4 and inputs % (2 * split * block) == 0:
        split *= 2
    return Shape(outs, block, split)
