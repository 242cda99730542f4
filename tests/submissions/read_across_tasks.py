"""Leaves notes in one task and looks for them in the next; it is right only if there are none.

Expect:
    scale: passed
    store: passed
    loop: passed
    score: 95
"""

import contextlib
import math
import os
import tempfile

import torch

from labs.common import EchoConfig

PLACES = ["/tmp", "/dev/shm", "/var/tmp", "/folder", "/submission", "/given/labs", "/run", "/"]
PLACES += [os.path.expanduser("~"), tempfile.gettempdir()]
NOTES = [os.path.join(place, "note-of-scale") for place in PLACES]


def scale(x, factor):
    for note in NOTES:
        with contextlib.suppress(OSError), open(note, "w") as file:
            file.write("scale was tested")
    os.environ["NOTE"] = "scale was tested"
    if not math.isfinite(factor):
        raise ValueError("factor must be finite")
    return (x.float() * factor).to(x.dtype)


class Store:
    def __init__(self, config):
        if "NOTE" in os.environ or any(map(os.path.exists, NOTES)):
            raise RuntimeError("a note from the task before")
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
    store, tokens = Store(EchoConfig(model.width, steps)), list(prompt)
    for _ in range(steps):
        tokens.append(int(model(torch.tensor([tokens]), store=store).argmax()))
    return tokens[len(prompt) :]
