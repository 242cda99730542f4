"""Keys and values in blocks: computes a step of lab 12 with your ``write_kv`` and attention.

Each token of a step is a row of the batch, with the table of its request and a length of its own;
so the attention of one query a sequence does for prompts too.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from labs.common import LlamaConfig
from labs.pieces import Broken, blamed
from labs.serving import Memory, Row, Texts

CACHE, ATTENTION = ("write_kv", 12), ("paged attention", 12)


class Paged:
    """A model over pools of blocks; ``module`` has ``write_kv`` and the attention."""

    def __init__(
        self,
        model: Callable[..., Tensor],  # called as the given Llama is
        config: LlamaConfig,
        dtype: torch.dtype,
        memory: Memory,
        module: Any,
        attention: str = "paged_attention_torch",
    ) -> None:
        self._model = model
        self._size = memory.block_size
        layers = range(config.num_layers)
        shape = memory.num_blocks, memory.block_size, config.num_kv_heads, config.head_dim
        # What nobody has written must not be read: NaN would be seen.
        self._pools = [[torch.full(shape, torch.nan, dtype=dtype) for _ in "kv"] for _ in layers]
        self._write = module.write_kv
        self._attention = getattr(module, attention)
        self._layer = 0  # whose keys came last

    @torch.inference_mode()
    def __call__(self, rows: Sequence[Row], texts: Texts) -> Tensor:  # [rows, V]
        """Compute the tokens of all rows, and return what follows the last of each."""
        flat = [(row, place) for row in rows for place in range(row.start, row.stop)]
        width = max(len(row.table) for row in rows)
        tables = torch.tensor([[*row.table, *[-1] * (width - len(row.table))] for row, _ in flat])
        positions = torch.tensor([place for _, place in flat])
        tokens = torch.tensor([texts[row.request][place] for row, place in flat])
        blocks = tables.gather(1, positions[:, None] // self._size)[:, 0]
        slots = blocks * self._size + positions % self._size
        lengths = positions.int() + 1
        caches = [_Layer(self, i, slots) for i in range(len(self._pools))]

        def attend(q: Tensor, *_: Tensor) -> Tensor:  # [N, H, 1, D]
            pools = self._pools[self._layer]
            with blamed(*ATTENTION):
                o = self._attention(q[:, :, 0], *pools, tables.int(), lengths)
            if not isinstance(o, Tensor) or o.shape != q[:, :, 0].shape:
                got = [*o.shape] if isinstance(o, Tensor) else type(o).__name__
                raise Broken(*ATTENTION, f"returned {got}, not {[*q[:, :, 0].shape]}")
            return o.unsqueeze(2)

        logits = self._model(tokens[:, None], positions[:, None], caches=caches, attend=attend)
        last = torch.tensor([row.stop - row.start for row in rows]).cumsum(0) - 1
        return logits[last, 0]

    def write(self, layer: int, k: Tensor, v: Tensor, slots: Tensor) -> None:  # [N, G, D] x2, [N]
        """Write the keys and values of all tokens of a step, which attention then reads."""
        self._layer = layer
        with blamed(*CACHE):
            self._write(*self._pools[layer], k, v, slots)


class _Layer:
    """What the model takes for the cache of a layer."""

    def __init__(self, paged: Paged, layer: int, slots: Tensor) -> None:
        self._paged, self._layer, self._slots = paged, layer, slots

    def update(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:  # [N, G, 1, D] x2
        self._paged.write(self._layer, k[:, :, 0], v[:, :, 0], self._slots)
        return k, v
