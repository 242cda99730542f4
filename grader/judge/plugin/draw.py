"""Random inputs of one test, from the run's seed and the test's id."""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def derive(seed: int, *labels: str) -> int:
    """Return 63 bits that depend on the seed and every label."""
    text = "\0".join((str(seed), *labels))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


class Draw:
    """Draws for one test. ``seed`` may be given to a submission: it says nothing of the inputs."""

    def __init__(self, run_seed: int, test_id: str) -> None:
        self.generator = torch.Generator().manual_seed(derive(run_seed, test_id, "inputs"))
        self.seed = derive(run_seed, test_id, "given") >> 32
        self._random = random.Random(derive(run_seed, test_id, "choices"))

    def normal(
        self,
        *shape: int,
        dtype: torch.dtype = torch.float32,
        scale: float = 1.0,
        shift: float = 0.0,
    ) -> Tensor:
        """Return a CPU tensor of normal numbers, drawn in float32 and rounded once."""
        numbers = torch.randn(*shape, generator=self.generator) * scale + shift
        return numbers.to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Return an int64 tensor of numbers in [low, high)."""
        return torch.randint(low, high, shape, generator=self.generator)

    def integer(self, low: int, high: int) -> int:
        """Return an int in [low, high)."""
        return self._random.randrange(low, high)

    def tokens(self, vocab: int, length: int) -> list[int]:
        """Return a list of token ids."""
        return [self._random.randrange(vocab) for _ in range(length)]

    def choice(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return self._random.choice(items)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        return self._random.sample(items, len(items))
