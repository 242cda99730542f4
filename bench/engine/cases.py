"""What is decoded: models, dtypes, batches and contexts, and who does it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from reference.models.checkpoint import Model, random_model, read

ENGINE, INT4 = "engine", "engine, int4"
STATIC, EAGER = "transformers, static", "transformers, eager"
DRAFT, LOOKUP = "engine, draft", "engine, lookup"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
TARGET = "target"
RANDOM: dict[str, dict[str, Any]] = {  # Llamas made on the spot, by their size
    "100M": {
        "num_layers": 14,
        "hidden_size": 768,
        "num_heads": 12,
        "num_kv_heads": 4,
        "head_dim": 64,
        "intermediate_size": 2048,
        "vocab_size": 8192,
    },
    "1.1B": {
        "num_layers": 22,
        "hidden_size": 2048,
        "num_heads": 32,
        "num_kv_heads": 4,
        "head_dim": 64,
        "intermediate_size": 5632,
        "vocab_size": 32000,
    },
}


@dataclass(frozen=True, slots=True)
class Case:
    """``batch`` sequences, each with ``context`` tokens behind it, get ``steps`` tokens more."""

    model: str
    dtype: str
    batch: int
    context: int
    steps: int
    peers: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.model}, {self.dtype}, batch {self.batch}, context {self.context}"


def cases(device: str) -> tuple[Case, ...]:
    """Return all cases of a kind of device, the most telling first."""
    if device == "cpu":
        every = (ENGINE, STATIC, EAGER)
        shapes = [(model, batch) for model in (TARGET, "100M") for batch in (1, 8)]
        measured = [Case(m, dtype, b, 256, 64, every) for m, b in shapes for dtype in DTYPES]
    else:
        rows = (
            (1, 256, (ENGINE, INT4, STATIC, EAGER)),
            (64, 256, (ENGINE, STATIC, EAGER)),
            (8, 256, (ENGINE, EAGER)),
            (1, 1024, (ENGINE, INT4, EAGER)),
            (64, 1024, (ENGINE, EAGER)),
        )
        measured = [Case("1.1B", "bfloat16", b, c, 128, peers) for b, c, peers in rows]
    return (*measured, Case(TARGET, "float32", 1, 64, 128, (ENGINE, DRAFT, LOOKUP)))


def chosen(
    device: str, models: Sequence[str], dtypes: Sequence[str], batches: Sequence[int], steps: int
) -> tuple[Case, ...]:
    """Return the cases of some models, dtypes and batches, with so many steps.

    Nothing named means all of it, and 0 steps as many as suit the case.
    """
    return tuple(
        replace(case, steps=steps or case.steps)
        for case in cases(device)
        if (not models or case.model in models)
        and (not dtypes or case.dtype in dtypes)
        and (not batches or case.batch in batches)
    )


def make(name: str, dtype: torch.dtype, device: str, checkpoints: Path) -> Model:
    """Read a checkpoint, or draw a random model of that size on the device."""
    if name not in RANDOM:
        return read(checkpoints / name).in_dtype(dtype)
    return random_model(_normal(dtype, device), **RANDOM[name], max_position_embeddings=2048)


def _normal(dtype: torch.dtype, device: str) -> Callable[..., Tensor]:
    source = torch.Generator(device).manual_seed(0)

    def normal(*shape: int, scale: float = 1.0, shift: float = 0.0) -> Tensor:
        drawn = torch.empty(shape, dtype=dtype, device=device).normal_(generator=source)
        return drawn.mul_(scale).add_(shift)

    return normal
