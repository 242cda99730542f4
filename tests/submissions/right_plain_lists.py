"""Correct, with lists and loops in place of tensors' own operators.

Expect:
    scale: passed
    store: passed
    loop: passed
    score: 95
"""

import math

import torch

from labs.common import EchoConfig


def scale(x, factor):
    if factor in (math.inf, -math.inf) or factor != factor:
        raise ValueError(f"{factor=}")
    flat = [float(torch.tensor(v * factor, dtype=torch.float32)) for v in x.flatten().tolist()]
    return torch.tensor(flat, dtype=x.dtype).reshape(x.shape)


class Store:
    def __init__(self, config):
        self.config = config
        self.data = []
        self.length = 0

    def append(self, row):
        if self.length >= self.config.capacity:
            raise ValueError("over capacity")
        self.data.append(row.tolist())
        self.length += 1

    def rows(self):
        return torch.tensor(self.data)


def generate(model, prompt, steps):
    store, new = Store(EchoConfig(width=model.width, capacity=max(steps, 1))), []
    while len(new) < steps:
        scores = model(torch.tensor([prompt + new]), store=store)[0].tolist()
        new.append(scores.index(max(scores)))
    return new
