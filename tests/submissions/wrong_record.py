"""Its store shows a configuration whose fields are tensors.

Expect:
    scale: passed
    store: passed failed passed
    loop: passed
    score: 88.3333
"""

import math

import torch

from labs.common import EchoConfig


def scale(x, factor):
    if not math.isfinite(factor):
        raise ValueError("factor must be finite")
    return (x.float() * factor).to(x.dtype)


class Store:
    def __init__(self, config):
        self.limit, self.kept = config.capacity, []
        self.config = EchoConfig(torch.ones(3), torch.ones(3))

    @property
    def length(self):
        return len(self.kept)

    def append(self, row):
        if self.length == self.limit:
            raise ValueError("capacity is used up")
        self.kept.append(row.clone())

    def rows(self):
        return torch.stack(self.kept)


def generate(model, prompt, steps):
    store, tokens = Store(EchoConfig(model.width, steps)), list(prompt)
    for _ in range(steps):
        tokens.append(int(model(torch.tensor([tokens]), store=store).argmax()))
    return tokens[len(prompt) :]
