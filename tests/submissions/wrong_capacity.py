"""Its store never refuses.

Expect:
    scale: passed
    store: passed failed
    loop: passed
    score: 88.3333
    says: expected a ValueError that names
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
        self.config, self.kept = config, []

    @property
    def length(self):
        return len(self.kept)

    def append(self, row):
        self.kept.append(row.clone())

    def rows(self):
        return torch.stack(self.kept)


def generate(model, prompt, steps):
    store, tokens = Store(EchoConfig(model.width, steps)), list(prompt)
    for _ in range(steps):
        tokens.append(int(model(torch.tensor([tokens]), store=store).argmax()))
    return tokens[len(prompt) :]
