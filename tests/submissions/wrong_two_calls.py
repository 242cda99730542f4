"""Asks the model twice a step, and swallows whatever is raised.

Expect:
    scale: passed
    store: passed
    loop: failed skipped
    score: 65
    says: the model's tokens
"""

import contextlib
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
        if self.length == self.config.capacity:
            raise ValueError("capacity is used up")
        self.kept.append(row.clone())

    def rows(self):
        return torch.stack(self.kept)


def generate(model, prompt, steps):
    store, tokens = Store(EchoConfig(model.width, 2 * steps)), list(prompt)
    for _ in range(steps):
        best = int(model(torch.tensor([tokens]), store=store).argmax())
        with contextlib.suppress(BaseException):
            model(torch.tensor([tokens]), store=store)
        tokens.append(best)
    return tokens[len(prompt) :]
