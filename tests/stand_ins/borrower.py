"""Run a lab's suites against its solution, which misuses whatever the judge lends it.

``python tests/stand_ins/borrower.py LAB SEED USES`` prints one JSON line: how many uses it made of
which kind, how often each verdict came, the tests that were ``infra``, the longest test in seconds,
and the memory of the process, which is the judge's and the worker's together.
"""

import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from stand_ins import liar

from grader.labs.lab import Lab
from grader.wire.channel import Channel
from grader.wire.codec import DTYPES
from grader.wire.errors import WireError
from grader.wire.objects import Stub
from grader.worker.serve import Worker

# The tasks in whose tests something is lent.
LENDING = {
    2: {"generate"},
    3: {"sampler", "beam"},
    4: {"attend"},
    5: {"attend", "generate"},
    9: {"model"},
    10: {"generate"},
    11: {"graphs"},
    13: {"measure"},
    14: {"vocabulary"},
}
CALL_SECONDS = 5.0
MOST_ELEMENTS = 1 << 21  # of a tensor that is sent
SIZES = (0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 8, 13, 60, 300, 2048, 1 << 16, 1 << 21)
BESIDE_ZERO = (1 << 20, 1 << 22, 1 << 23, (1 << 32) - 1)
NUMBERS = (0, 1, 2, 3, 5, 7, -1, 100, 5000, 1 << 31, (1 << 63) - 1, -(1 << 63))
NAMES = "tokens positions mask caches attend k v n self logits linear x".split()
ODD = ("", "__class__", "__init__", "target", "length", "\ud800", "x" * 5000)


class Odd:
    """An object of the submission whose every method gives something made up."""

    def __init__(self, uses: "Uses") -> None:
        self._uses = uses

    def update(self, *args: Any, **kwargs: Any) -> Any:
        return self._uses.value()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._uses.value()

    @property
    def weight(self) -> Any:
        return self._uses.value()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._uses.value()


@dataclass
class Uses:
    """Makes uses of lent objects up; ``made`` counts them by how they ended."""

    random: random.Random
    most: int  # of one call
    made: Counter[str] = field(default_factory=Counter)
    last: str = ""

    def tensor(self) -> torch.Tensor:
        """A tensor of a few axes, some of them of no length and others of any."""
        dtype = DTYPES[self.random.choice(["float32", "int64", "int64", "bool", *DTYPES])]
        shape = [self.random.choice(SIZES) for _ in range(self.random.randrange(6))]
        while math.prod(shape) > MOST_ELEMENTS or math.prod(n or 1 for n in shape) >> 24:
            shape[shape.index(max(shape))] = 1
        if 0 in shape and self.random.random() < 0.4:
            shape.insert(self.random.randrange(len(shape) + 1), self.random.choice(BESIDE_ZERO))
        if self.random.random() < 0.2:
            raw = torch.randint(0, 256, (math.prod(shape) * dtype.itemsize,), dtype=torch.uint8)
            return raw.view(dtype).reshape(shape) if dtype is not torch.bool else raw.gt(9)
        low = torch.randint(0, self.random.choice([1, 2, 5, 40]), shape, dtype=torch.int8)
        return low.to(dtype)

    def batch(self) -> list[Any]:
        """Arguments as a scripted model takes them, of any size."""
        rows, columns = (self.random.choice(SIZES[2:-1]) for _ in range(2))
        while rows * columns * columns > MOST_ELEMENTS:
            columns, rows = (columns // 2, rows) if columns > 1 else (1, rows // 2)
        tokens = torch.randint(0, 4, (rows, columns))
        positions = torch.arange(columns).repeat(rows, 1)
        mask = torch.ones(rows, 1, columns, columns, dtype=torch.bool).tril()
        return [tokens, positions, mask][: self.random.randrange(1, 4)]

    def pair(self) -> list[Any]:
        """Keys and values, of any number of tokens."""
        groups, width = self.random.choice([(1, 1), (2, 3), (2, 8), (1, 0), (0, 5)])
        new = self.random.choice([1, 1, 2, 7, 400, 5000, 40_000])
        return [torch.ones(1, groups, new, width) for _ in range(2)]

    def value(self, depth: int = 0) -> Any:
        """Anything that crosses."""
        what = self.random.choice("tensor tensor tensor number number text none list tuple "
                                  "dict float type ids object deep".split())  # fmt: skip
        if depth > 3 and what in ("list", "tuple", "dict"):
            what = "number"
        match what:
            case "tensor":
                return self.tensor()
            case "number":
                return self.random.choice(NUMBERS)
            case "text":
                return self.random.choice(ODD)
            case "none":
                return self.random.choice([None, True, False])
            case "list":
                return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
            case "tuple":
                return tuple(self.value(depth + 1) for _ in range(self.random.randrange(4)))
            case "dict":
                return {self.random.choice(ODD): self.value(depth + 1)}
            case "float":
                return self.random.choice([0.5, math.nan, math.inf, -1e308])
            case "type":
                return self.random.choice([torch.float32, torch.int4, torch.device("cpu")])
            case "ids":
                count = self.random.choice([0, 1, 2, 5, 60, 1000, 90_000])
                return [self.random.randrange(4)] * count
            case "object":
                return Odd(self)
            case _:
                deep: Any = 1
                for _ in range(self.random.choice([5, 25, 36, 45])):
                    deep = [deep]
                return deep

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of one use: of a kind that some lent object takes, or of none."""
        match self.random.randrange(6):
            case 0:
                given = self.batch()
            case 1:
                given = self.pair()
            case 2:
                given = [self.value()]
            case _:
                given = [self.value() for _ in range(self.random.randrange(5))]
        named: dict[str, Any] = {}
        if self.random.random() < 0.2:
            named = {self.random.choice([*NAMES, *ODD]): self.value()}
        if self.random.random() < 0.1:
            named |= {"caches": [Odd(self) for _ in range(3)], "attend": Odd(self)}
        return tuple(given), named

    def misuse(self, worker: Worker, stubs: list[Stub]) -> None:
        """Use the stubs, and those that come back; what is refused is tried in another way."""
        for _ in range(self.random.randrange(1, self.most + 1)):
            stub = self.random.choice(stubs)
            names = [*vars(stub)["_methods"], *vars(stub)["_attributes"]] or ["__call__"]
            name = self.random.choice(names if self.random.random() < 0.9 else ODD)
            number = vars(stub)["_number"] + (self.random.random() < 0.05)
            args, kwargs = self.arguments()
            asked = name in vars(stub)["_attributes"] or self.random.random() < 0.05
            self.made["uses"] += 1
            try:
                got = worker.ask(number, name, None if asked else args, kwargs)
            except WireError:
                self.made["ended"] += 1
                raise
            except Exception as error:
                self.made[type(error).__name__] += 1
            else:
                self.made["answered"] += 1
                if isinstance(got, Stub):
                    stubs.append(got)


class Borrower(Worker):
    """A real worker in which each call that is lent something misuses it first."""

    uses: Uses
    calls = False

    def perform(self, header: dict[str, Any], buffers: list[torch.Tensor]) -> Any:
        self.calls = header["op"] == "call"
        if header["op"] == "probe" and header["name"] == "guard":
            return []  # it changes this process, and a worker that ends would leave it so
        return super().perform(header, buffers)

    def _target(self, target: list[Any]) -> Any:
        function = super()._target(target)
        if not self.calls:
            return function

        def called(*args: Any, **kwargs: Any) -> Any:
            stubs = [item for item in (*args, *kwargs.values()) if isinstance(item, Stub)]
            if stubs:
                self.uses.misuse(self, stubs)
            return function(*args, **kwargs)

        return called


def borrow(lab: Lab, seed: int, most: float) -> dict[str, Any]:
    """Grade the solution, which misuses what it is lent; return what came of it."""
    uses = Uses(random.Random(seed), int(most))

    def make(channel: Channel) -> Worker:
        worker = Borrower(channel, "cpu")
        worker.uses = uses
        return worker

    quick = replace(lab, limits=replace(lab.limits, call_seconds=CALL_SECONDS))
    started = time.monotonic()
    came = liar.run(quick, seed, make, frozenset(LENDING[lab.number]))
    peak = peak_mebi()
    return {"made": uses.made, **came, "mebi": peak, "seconds": time.monotonic() - started}


def peak_mebi() -> int:
    """Return the most memory that this program held; ru_maxrss begins with its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


if __name__ == "__main__":
    liar.main(borrow)
