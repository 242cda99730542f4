"""The measurements: every collective over sizes, then an MLP whole and split over the ranks."""

import math
import os
import shutil
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import torch
import torch.cuda.nccl as nccl_module

from bench.network.bus import KINDS, bus_factor
from bench.page import command
from grader.errors import CannotGrade, NotGraded, SubmissionFault, UsageError
from grader.labs.lab import Lab
from grader.proxy.conversation.clock import Clock
from grader.proxy.ranks.group import Group
from grader.proxy.ranks.groups import Groups
from grader.sandbox.level import are_divided, choose_level
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting
from grader.sandbox.stage import staged

CODE = Path(__file__).with_name("busywork.py")
SECONDS = 120.0  # of one measurement at most
ROUND_BYTES = {"gloo": 1 << 26, "nccl": 1 << 32}  # moved in a round, about
MOST_CALLS = {"gloo": 20, "nccl": 200}
LEAST_CALLS = 3
LARGEST = {"gloo": 64 << 20, "nccl": 512 << 20}  # bytes
STEP = 8  # from one size to the next
ELEMENT = 4  # bytes
MODELS = {"gloo": (512, 1536, (1, 256)), "nccl": (8192, 28672, (1, 4096))}  # E, F, tokens


@dataclass(frozen=True, slots=True)
class Moved:
    """One collective at one size. Bytes are those of the full tensor."""

    kind: str
    world: int
    bytes: int
    seconds: float

    @property
    def algorithm(self) -> float:
        """The algorithm bandwidth in GB/s."""
        return self.bytes / self.seconds / 1e9

    @property
    def bus(self) -> float:
        """The bus bandwidth in GB/s."""
        return self.algorithm * bus_factor(self.kind, self.world)


@dataclass(frozen=True, slots=True)
class Layer:
    """The MLP of a model on some tokens; ``world`` 0 is the whole one, which sends nothing."""

    width: int
    inner: int
    tokens: int
    world: int
    seconds: float


def sizes(world: int, largest: int) -> list[int]:
    """Return the bytes of full tensors, rising to ``largest``, that every rank can share."""
    unit = world * ELEMENT
    found = [largest // unit * unit]
    while found[-1] // STEP >= unit:
        found.append(found[-1] // STEP // unit * unit)
    return found[::-1]


@contextmanager
def groups(lab: Lab, backend: str, ranks: int) -> Generator[Callable[[int], Group], None, None]:
    """Give a function from a size to a group of ranks that run our busywork in the sandbox."""
    device = "cuda" if backend == "nccl" else "cpu"
    level, _ = choose_level("auto")
    with staged(lab, {}, level) as stage:
        folder = stage / "submission"
        folder.mkdir(mode=0o755)
        shutil.copy(CODE, folder / CODE.name)
        shutil.copy(lab.solutions / lab.code_name, folder / lab.code_name)
        limits = {"CORE": 0}
        setting = Setting(
            *(stage, {}, lab.given, device, level, 64 << 30, 4096, limits, 1 << 16),
            ranks=ranks,
            divided=are_divided(level, device),
        )
        file = f"{setting.seen('submission')}/{CODE.name}"
        source = CODE.read_text(encoding="utf-8")
        made = Groups(setting, Clock(SECONDS), source, file, lambda: _ready(setting))
        try:
            yield lambda size: made.get(size, backend)
        finally:
            for kill in made.retire():
                kill()


def _ready(setting: Setting) -> WorkerProcess:
    worker = WorkerProcess(setting)
    worker.wait_ready()
    return worker


def collectives(group: Group, kinds: Sequence[str], backend: str, largest: int) -> Iterator[Moved]:
    """Yield every kind at every size, in a group of two ranks or more."""
    for kind in kinds:
        for size in sizes(group.size, largest):
            calls = min(max(ROUND_BYTES[backend] // size, LEAST_CALLS), MOST_CALLS[backend])
            yield Moved(
                kind, group.size, size, _slowest(group.collective(kind, size // ELEMENT, calls))
            )


def layers(group: Group, lab: Lab, backend: str) -> Iterator[Layer]:
    """Yield the MLP for each number of tokens: split over the group, and for one rank also whole.

    A group that cannot share it evenly yields none.
    """
    width, inner, counts = MODELS[backend]
    if inner % group.size:
        return
    for tokens in counts:
        calls = MOST_CALLS[backend] if tokens == 1 else LEAST_CALLS
        if group.size == 1:
            seconds = _slowest(group.dense_mlp(width, inner, tokens, calls))
            yield Layer(width, inner, tokens, 0, seconds)
        told = group.parallel_mlp(lab.code_name, width, inner, tokens, calls)
        yield Layer(width, inner, tokens, group.size, _slowest(told))


def _slowest(seconds: Sequence[object]) -> float:
    """Return the time of the rank that took longest; the collective ends with it."""
    told = [value for value in seconds if isinstance(value, float) and 0 < value < math.inf]
    if len(told) < len(seconds):
        raise CannotGrade("a rank told no time")
    return max(told)


def measure(
    lab: Lab, backend: str, worlds: Sequence[int], kinds: Sequence[str], largest: int
) -> Iterator[Moved | Layer]:
    """Yield everything that is measured, group by group."""
    try:
        with groups(lab, backend, max(worlds)) as group_of:
            for world in worlds:
                if world > 1:
                    yield from collectives(group_of(world), kinds, backend, largest)
            for world in dict.fromkeys((1, *worlds)):
                yield from layers(group_of(world), lab, backend)
    except NotGraded as error:
        raise UsageError(str(error), "name fewer ranks, or --backend gloo") from None
    except SubmissionFault as fault:
        raise CannotGrade(f"the ranks did not get through: {fault}") from None


def default_backend() -> str:
    """Return what suits this machine: NCCL where torch sees a GPU."""
    return "nccl" if torch.cuda.is_available() else "gloo"


def suitable_ranks(backend: str) -> tuple[int, ...]:
    """Return the group sizes to measure unless some are named: 2 and 4, as the GPUs allow."""
    most = torch.cuda.device_count() if backend == "nccl" else 4
    return tuple(ranks for ranks in (2, 4) if ranks <= most) or (1,)


def machine(backend: str) -> dict[str, str]:
    """When and on what this ran: date, GPUs or cores, versions, sandbox, command."""
    gpus = torch.cuda.device_count() if backend == "nccl" else 0
    nccl = ".".join(map(str, nccl_module.version())) if gpus else "-"
    facts = {
        "date": datetime.now().astimezone().strftime("%Y-%m-%d"),
        "backend": backend,
        "GPUs": f"{gpus} x {torch.cuda.get_device_name()}" if gpus else "-",
        "cores": str(os.cpu_count()),
        "torch": torch.__version__,
        "NCCL": nccl,
        "sandbox": choose_level("auto")[0],
        "command": command(sys.argv[1:]),
    }
    return {key: value for key, value in facts.items() if value != "-"}


__all__ = [
    "KINDS",
    "LARGEST",
    "Layer",
    "Moved",
    "default_backend",
    "machine",
    "measure",
    "sizes",
    "suitable_ranks",
]
