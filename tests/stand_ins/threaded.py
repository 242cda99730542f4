"""A worker in a thread of the test, in place of a process: a call takes microseconds."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from types import ModuleType

import torch

from grader.errors import StudentCrashed, SubmissionFault
from grader.sandbox.pace import PACE
from grader.sandbox.process import make_arena
from grader.wire.channel import Channel
from grader.wire.errors import WireError
from grader.worker.serve import Worker

SOURCE = """
import sys
import time
from dataclasses import dataclass
import torch

class Box:
    def __init__(self, value=0):
        self.value = value
    def get(self):
        return self.value
    def set(self, value):
        if value is None:
            raise ValueError("value must not be None")
        self.value = value
    def __call__(self, more):
        return self.value + more
    @classmethod
    def of_two(cls, first, second):
        return cls(first + second)

LIMIT = 12

def echo(*args, **kwargs):
    return (args, kwargs)

def same(x):
    return x

def nap(seconds):
    time.sleep(seconds)

def use(thing, *args):
    return thing(*args)

def attribute(thing, name):
    return getattr(thing, name)

def swallow(thing, times):
    for _ in range(times):
        try:
            thing(1)
        except BaseException as error:
            print(type(error).__name__, error)
    return "fine"

def add_in_place(x, numbers, more):
    x += more
    numbers.append(1)
    return x, numbers

def set_box(value):
    Box().set(value)

TOLD = []

def seen(x):
    # What frames hold of numbers like those of x.
    import re, sys
    frame, found = sys._getframe(), set()
    while frame is not None and frame.f_code.co_name != "run":
        found |= {*re.findall(r"771\\d\\d\\d", repr(frame.f_locals))}
        for value in frame.f_locals.values():
            assert not hasattr(value, "__next__"), value
        frame = frame.f_back
    TOLD.append(sorted(map(float, found)))
    return x * 1.0

def told():
    return TOLD

KEPT = []

def walk(thing, steps):
    return [thing.at] + [x for step in steps for x in (thing.go(step), thing.at, thing.at)]

def keep(thing):
    KEPT.append(thing)

def use_kept():
    return KEPT[0](5)

def keep_rows():
    KEPT.extend(KEPT[0])

BUFFER = torch.zeros(2)

def reuse(x):
    return BUFFER.copy_(x)

def double(x):
    return 2 * x

def throw(generator):
    return torch.rand(4, generator=generator).tolist()

def empty(values):
    values.popitem()

def fill(values):
    values["w"].fill_(7)

def cube(x, factor):
    return x**3 * factor

def forget():
    KEPT.clear()

def hand_over(thing):
    return thing(Box(3))

def bad(x=None):
    raise ValueError("the width is wrong")

def ruin(x, lie):
    if lie:  # let the worker tell of a copy
        worker = sys._getframe(2).f_locals["self"]
        worker.watched[:] = [storage_of(x).clone()]
    x.zero_()

def storage_of(x):
    return torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())

def swap(x):
    x.data = torch.zeros_like(x)

def spoil(x):
    x += 1
    raise ValueError("too late")

def out_of_memory():
    raise MemoryError("no more")

def from_thread(thing):
    import threading
    seen = []
    def run():
        try:
            thing(1)
        except Exception as error:
            seen.append(str(error))
    other = threading.Thread(target=run)
    other.start()
    other.join()
    return seen[0]

def add_to(xs):
    xs[0] += 1

def multiply(a, b):
    return a @ b

def forbidden(x):
    return torch.mul(x, x)

def attend(q):
    return torch.nn.functional.scaled_dot_product_attention(q, q, q)
"""


class Thread:
    """A worker in a thread of ours, in place of a process."""

    def __init__(self, serve: Callable[[socket.socket, tuple[int, int]], None]) -> None:
        ours, theirs = socket.socketpair()
        arenas = make_arena(1 << 20), make_arena(1 << 20)
        self.channel = Channel(ours, arenas[1], arenas[0], holds=1 << 20, now=PACE.now)
        self.killed = False

        def run() -> None:
            with theirs, contextlib.suppress(WireError, OSError):
                serve(theirs, arenas)
            for fd in arenas:
                os.close(fd)

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def kill(self) -> None:
        self.killed = True
        self.channel.close()

    def join(self) -> None:
        """Wait for the thread, which ends once the judge has hung up."""
        self.kill()
        self._thread.join()

    def fault(self) -> SubmissionFault:
        self.kill()
        return StudentCrashed("the worker is gone")


def serve_source(sock: socket.socket, arenas: tuple[int, int]) -> None:
    """Serve calls of SOURCE as the real worker does."""
    worker = Worker(Channel(sock, *arenas, takes_fds=True), "cpu")
    worker.module = ModuleType("submission")
    exec(compile(SOURCE, "echo.py", "exec"), vars(worker.module))
    worker.file = "echo.py"
    worker.given = {"layers": torch.nn}
    worker.serve()
