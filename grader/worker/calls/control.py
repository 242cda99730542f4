"""Answers of ours that are known to be good: what a request takes of this machine.

The judge asks for them in a worker that has met no submission, once a submission's has ended in a
way that may be this machine's. Each part does what answers do, little of it; what fails raises, and
so does a result that is wrong.
"""

import importlib
import os
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.wire.storage import whole_storage

SHARED = "/dev/shm"
BYTES = 1 << 20  # of each file
TEXT = "ä→"  # which a locale of one byte cannot write
SIDE = 64  # of a product
NUMBERS = 1 << 17  # which torch shares out among threads
MOST_BYTES = 1 << 30  # of a message
CLOCKS = ("monotonic", "perf_counter", "time")


def prove(parts: list[str], device: torch.device) -> None:
    """Do what some parts are about."""
    for part in parts:
        PARTS[part](device)


def answer(tensors: list[Tensor]) -> list[list[int]]:
    """Take as much memory as each argument once more, and return their shapes."""
    for tensor in tensors:
        whole = whole_storage(tensor)
        # Of elements that lie far apart nobody takes what lies between.
        (tensor if whole.numel() > MOST_BYTES else whole).clone()
    return [list(tensor.shape) for tensor in tensors]


def clocks(_: torch.device) -> None:
    """Fail where a clock stands."""
    before = [getattr(time, name)() for name in CLOCKS]
    time.sleep(0.001)
    for name, then in zip(CLOCKS, before, strict=True):
        if getattr(time, name)() == then:
            raise OSError(f"time.{name} stands still")


def files(_: torch.device) -> None:
    """Write where a worker may write, and print, in the encoding of this process."""
    for place in (tempfile.gettempdir(), SHARED):
        with tempfile.NamedTemporaryFile("w+", dir=place) as file:
            file.write(TEXT)
            file.flush()
            os.posix_fallocate(file.fileno(), 0, BYTES)
    print(TEXT, flush=True)


def threads(_: torch.device) -> None:
    """Start a thread, and share a sum out among as many as torch has here."""
    seen: list[int] = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    total = int(torch.ones(NUMBERS).square().sum())
    _assert_is(total, NUMBERS * len(seen), "a sum of ones")


def sums(device: torch.device) -> None:
    """Multiply matrices, and go back through it."""
    x = torch.full((SIDE, SIDE), 0.5, device=device).requires_grad_()
    # No gradient is given: one would make autograd import a third of a second of other modules.
    (slope,) = torch.autograd.grad((x @ x).sum(), x)
    _assert_is(int(slope.sum()), SIDE**3, "the gradient of a product")
    _assert_is(round(float(x.detach().softmax(-1).sum())), SIDE, "a softmax")


def kernel(device: torch.device) -> None:
    """Launch a kernel."""
    importlib.import_module("grader.worker.calls.doubled").launch(device)


def elsewhere(_: torch.device) -> None:
    """Let an operator run on a device of ours, where hidden numbers are."""
    importlib.import_module("grader.worker.device.own_answer").add()


def interpreted(_: torch.device) -> None:
    """Let a kernel be interpreted there, from its text."""
    importlib.import_module("grader.worker.device.own_answer").launch()


def traced(device: torch.device) -> None:
    """Let torch.compile take a graph, and leave it as it is."""
    _compile(device, "eager")


def compiled(device: torch.device) -> None:
    """Let torch.compile make code."""
    _compile(device, "inductor")


def _compile(device: torch.device, backend: str) -> None:
    doubled = torch.compile(_double, backend=backend, fullgraph=True)
    total = int(doubled(torch.ones(SIDE, device=device)).sum())
    _assert_is(total, 2 * SIDE, "a compiled function")


def _double(x: Tensor) -> Tensor:
    return 2 * x


def collective(device: torch.device) -> None:
    """Add up ones of all ranks."""
    dist: Any = importlib.import_module("torch.distributed")
    ones = torch.ones(SIDE, device=device)
    dist.all_reduce(ones)
    _assert_is(int(ones.sum()), SIDE * dist.get_world_size(), "a sum over ranks")


def _assert_is(value: int, wanted: int, what: str) -> None:
    if value != wanted:
        raise RuntimeError(f"{what} is {value}, not {wanted}")


PARTS: dict[str, Callable[[torch.device], None]] = {
    part.__name__: part
    for part in (
        *(clocks, files, threads, sums, kernel, elsewhere, interpreted),
        *(traced, compiled, collective),
    )
}
