"""bool in place of a check: an infinite factor is let through.

Fails: scale
"""

import torch
from torch import Tensor

from labs.common import EchoConfig


def scale(x: Tensor, factor: float) -> Tensor:
    """Multiply in float32."""
    return (x.float() * factor).to(x.dtype)


class Store:
    """Rows in a list."""

    def __init__(self, config: EchoConfig) -> None:
        self.config = config
        self._rows: list[Tensor] = []

    @property
    def length(self) -> int:
        """How many rows are kept."""
        return len(self._rows)

    def append(self, row: Tensor) -> None:
        """Keep a copy of a row."""
        if self.length == self.config.capacity:
            raise ValueError(f"the capacity of {self.config.capacity} rows is used up")
        self._rows.append(row.clone())

    def rows(self) -> Tensor:
        """Return all rows."""
        return torch.stack(self._rows)


def generate(model, prompt: list[int], steps: int) -> list[int]:
    """One store and one call a step."""
    store = Store(EchoConfig(width=model.width, capacity=steps))
    tokens = list(prompt)
    for _ in range(steps):
        tokens.append(int(model(torch.tensor([tokens]), store=store).argmax()))
    return tokens[len(prompt) :]
