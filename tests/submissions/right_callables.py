"""Correct, with a module, a partial and an inherited class in place of plain functions.

Expect:
    scale: passed
    store: passed
    loop: passed
    score: 95
"""

import functools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy
import torch
from torch import nn

from labs.common import EchoConfig


class Multiplier(nn.Module):
    def forward(self, x, factor):
        if not numpy.isfinite(factor):
            raise ValueError("the factor is " + str(factor))
        return torch.as_tensor(x.float().numpy() * numpy.float32(factor)).to(x.dtype)


scale = Multiplier()


class Counted:
    @property
    def length(self):
        return self.filled


@dataclass
class Store(Counted):
    config: EchoConfig
    filled: int = 0
    data: Any = field(init=False)

    def __post_init__(self):
        self.data = torch.zeros(self.config.capacity, self.config.width)

    def append(self, row):
        if self.filled == len(self.data):
            raise ValueError("its capacity: " + str(len(self.data)))
        self.data[self.filled] = row
        self.filled += 1

    rows = functools.partialmethod(lambda self: self.data[: self.filled])


def _generate(seed, model, prompt, steps):
    store = Store(EchoConfig(model.width, math.ceil(steps)))
    history = torch.tensor([prompt])
    for _ in range(steps):
        best = model(history, store=store).argmax(-1, keepdim=True)
        history = torch.cat([history, best], dim=1)
    return history[0, len(prompt) :].tolist()


generate = functools.partial(_generate, 0)
