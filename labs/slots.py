"""Keys and values in slots: computes steps with your lab 11, compiled or as graphs that replay.

A slot holds a whole text, so what a scheduler knows as a block is a slot here: a table is one
number. Prompts enter by your ``Prefill``; where it is missing, token by token.
"""

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from labs.assembly import Assembly
from labs.pieces import Broken, blamed
from labs.serving import Memory, Row, Texts

BUCKETS = (16, 64, 256, 1024)
CACHE, STEP, GRAPHS, PREFILL = (
    (name, 11) for name in ("cache", "compiled step", "graphs", "prefill")
)

Decode = Callable[[list[int], list[int], list[int]], Tensor]  # tokens, positions, slots -> [n, V]


class Slots:
    """A model over your ``StaticCache``, ready: what is compiled or captured has been."""

    def __init__(
        self,
        model: Assembly,
        module: ModuleType,
        memory: Memory,  # slots of so many places
        *,
        backend: str | None,  # of torch.compile; None replays graphs
        prefill: bool,
    ) -> None:
        self._model, self._memory = model, memory
        with torch.no_grad(), model.running(0):
            with blamed(*CACHE):
                sizes = memory.num_blocks, memory.block_size
                self._cache = module.StaticCache(model.config, *sizes, model.precision, "cpu")
            if backend is None:
                self._piece, self._decode = GRAPHS, self._graphs(module)
            else:
                self._piece, self._decode = STEP, self._compiled(module, backend)
            self._prefill = self._reader(module, backend or "eager") if prefill else None

    def _graphs(self, module: ModuleType) -> Decode:
        powers = [2**i for i in range(self._memory.num_blocks.bit_length())]
        sizes = sorted({*powers, self._memory.num_blocks})
        with blamed(*GRAPHS):
            tape = importlib.import_module("labs.tape").Tape  # comes with lab 11 alone
            runner = module.GraphRunner(self._model.inner, self._cache, sizes, tape)
            for size in sizes:
                runner.step([0] * size, [0] * size, [*range(size)])
        return runner.step

    def _compiled(self, module: ModuleType, backend: str) -> Decode:
        """Fill every batch up with rows of scratch, so that there is one size to compile."""
        rows = scratch = self._memory.num_blocks
        with blamed(*STEP):
            step = module.compile_step(self._model.inner, self._cache, backend)

        def decode(*lists: list[int]) -> Tensor:
            padding = [[fill] * (rows - len(lists[0])) for fill in (0, 0, scratch)]
            pairs = zip(lists, padding, strict=True)
            return step(*(torch.tensor([*some, *more]) for some, more in pairs))[: len(lists[0])]

        with blamed(*STEP):
            decode([0], [0], [0])
        return decode

    def _reader(self, module: ModuleType, backend: str) -> Any:
        """Return your ``Prefill``; what it writes in a slot here lies there as an old text does."""
        longest = self._memory.block_size
        sizes = [*(size for size in BUCKETS if size < longest), longest]
        with blamed(*PREFILL):
            prefill = module.Prefill(self._model.inner, self._cache, sizes, backend)
            for size in sizes[:2]:  # most prompts are short
                prefill([0] * size, 0)
        return prefill

    @torch.no_grad()
    def __call__(self, rows: Sequence[Row], texts: Texts) -> Tensor:  # [rows, V]
        """Let prompts enter their slots, then one token of each running text."""
        found: dict[int, Tensor] = {}
        running: list[Row] = []
        for row in rows:
            if row.stop - row.start == 1 and row.stop > 1:
                running.append(row)
            elif row.start == 0:
                found[row.request] = self._read(texts[row.request][: row.stop], row.table[0])
            else:
                raise Broken("scheduler", 12, "shares tokens, and was asked not to")
        if running:
            tokens = [texts[row.request][row.start] for row in running]
            lists = tokens, [row.start for row in running], [row.table[0] for row in running]
            with self._model.running(len(running)), blamed(*self._piece):
                logits = self._decode(*lists)
            if not isinstance(logits, Tensor) or len(logits) != len(running):
                raise Broken(*self._piece, f"gave no [{len(running)}, V] for {len(running)} rows")
            found |= {row.request: one for row, one in zip(running, logits, strict=True)}
        return torch.stack([found[row.request] for row in rows])

    def _read(self, text: list[int], slot: int) -> Tensor:  # [V]
        with self._model.running(len(text)):
            if self._prefill is not None:
                with blamed(*PREFILL):
                    logits = self._prefill(text, slot)
                if not isinstance(logits, Tensor) or logits.dim() != 1:
                    raise Broken(*PREFILL, f"gave no logits [V] for {len(text)} tokens")
                return logits
            with blamed(*self._piece):
                *_, last = (self._decode([t], [place], [slot]) for place, t in enumerate(text))
                return last[0]
