"""Ways to serve texts with your pieces of labs 11 and 12, the given code for those that lack.

Each is a scheduler, a model and what computes a step. The given code has no cache, and lets one
text follow another.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from labs.assembly import Assembly
from labs.decoding import Choose, Unfit, chooser
from labs.one_by_one import BLOCKS, OneByOne
from labs.paging import Paged
from labs.pieces import Broken, Work, blamed
from labs.serving import (
    SCHEDULER,
    Compute,
    Memory,
    Row,
    Scheduler,
    Served,
    Serving,
    Texts,
)
from labs.slots import Slots

BLOCK = 8  # tokens: small enough for short texts to have several and to share some
BACKEND = "inductor"  # of torch.compile
NOT_USED = ("padding", "attention", "cache")  # pieces of a text alone, which these ways replace


@dataclass(frozen=True, slots=True)
class Way:
    """How texts are served; ``ready`` to serve as often as one likes."""

    model: Assembly
    memory: Memory
    schedule: Callable[[], Scheduler]
    compute: Compute
    rows: int | None = None  # at most, if that is yours to keep

    def serve(
        self, prompts: Sequence[list[int]], options: argparse.Namespace, works: dict[int, Work]
    ) -> Served:
        """Continue all prompts with the tokens that the options ask for."""
        most, config = options.max_new_tokens, self.model.config
        room = self.memory.num_blocks * self.memory.block_size
        if isinstance(self.compute, Slots):
            room = self.memory.block_size
        longest = max(map(len, prompts)) + most
        if longest > room:
            raise Unfit(f"a text of {longest} tokens does not fit: there is room for {room}")
        if most == 0:
            return Served([[] for _ in prompts], [])
        self.model.begin()

        def choose(text: list[int]) -> Choose:
            return chooser(options, works, self.model.owners, text)

        ends = config.eos_token_ids
        serving = Serving(self.schedule(), self.memory, prompts, most, ends, self.rows)
        return serving.serve(self.compute, choose)


def given_way(model: Assembly, memory: Memory) -> Way:
    """One text after another, and every step repeats the whole text."""
    return Way(model, memory, lambda: OneByOne(memory), whole(model))


def whole(model: Assembly) -> Compute:
    """Compute a step without a cache."""

    def compute(rows: Sequence[Row], texts: Texts) -> Tensor:
        ends = [model(*model.lay_out(texts[row.request][: row.stop], 0))[0, -1] for row in rows]
        return torch.stack(ends)

    return compute


def paged_way(
    model: Assembly, works: Mapping[int, Work], memory: Memory, rows: int, *, kernel: bool
) -> Way:
    """Blocks of lab 12, read by its attention: of torch, or by the kernel."""
    for name in NOT_USED:
        model.owners.pop(name, None)
    schedule = scheduling(model, works, memory, rows, blocks=True)
    module = model.piece("cache in blocks", (12, "torch"))
    if kernel:
        attention = model.piece("attention", (12, "triton"))
        if module is None or attention is None:
            raise Unfit(needs(works, 12, "torch", "triton"))
        compute = Paged(model, model.config, model.precision, memory, module, "paged_attention")
    elif module is not None:
        model.owners["attention"] = model.owners["cache in blocks"]
        compute = Paged(model, model.config, model.precision, memory, module)
    elif model.owners["scheduler"].startswith("yours"):
        stand_in(model, "cache in blocks", "none: every step repeats the whole text")
        compute = whole(model)
    else:
        raise Unfit(needs(works, 12, "torch"))
    return Way(model, memory, schedule, compute, rows)


def slots_way(model: Assembly, works: Mapping[int, Work], memory: Memory, *, compiled: bool) -> Way:
    """Slots of lab 11, whose steps are compiled, or graphs that are replayed."""
    for name in NOT_USED:
        model.owners.pop(name, None)
    task = "step" if compiled else "graphs"
    module = model.piece("cache in slots", (11, "cache"))
    step = model.piece("compiled step" if compiled else "graphs", (11, task))
    if module is None or step is None:
        raise Unfit(needs(works, 11, "cache", task))
    prefill = model.piece("prefill", (11, "prefill")) is not None
    if not prefill:
        stand_in(model, "prefill", "given: token by token")
    if compiled:
        compute = _compiled(model, module, memory, prefill=prefill)
    else:
        compute = Slots(model, module, memory, backend=None, prefill=prefill)
    schedule = scheduling(model, works, memory, memory.num_blocks, blocks=False)
    return Way(model, memory, schedule, compute, memory.num_blocks)


def _compiled(model: Assembly, module: ModuleType, memory: Memory, *, prefill: bool) -> Slots:
    """Compile by inductor; where it finds no C++ compiler the graph runs as torch's operators."""
    print("compiling the step, which takes a minute the first time …", file=sys.stderr, flush=True)
    try:
        return Slots(model, module, memory, backend=BACKEND, prefill=prefill)
    except Broken as broken:
        if "InvalidCxxCompiler" not in f"{broken} {broken.__cause__}":
            raise
    model.owners["compiled step"] += "; no C++ compiler is here, so its operators run one by one"
    torch.compiler.reset()
    return Slots(model, module, memory, backend="eager", prefill=prefill)


def scheduling(
    model: Assembly, works: Mapping[int, Work], memory: Memory, rows: int, *, blocks: bool
) -> Callable[[], Scheduler]:
    """Return what makes a scheduler: yours, or the given one over blocks of yours."""
    module = model.piece("scheduler", (12, "scheduler"))
    if module is not None:
        work = works[12]
        share = blocks and work.piece("sharing") is not None
        most = memory.num_blocks * memory.block_size

        def schedule() -> Scheduler:
            with blamed(*SCHEDULER):
                sizes = memory.num_blocks, memory.block_size
                return module.Scheduler(*sizes, rows, most, share)

        return schedule
    stand_in(model, "scheduler", "given: one text after another")
    manager = model.piece("blocks", (12, "blocks")) if blocks else None

    def one_by_one() -> Scheduler:
        if manager is None:
            return OneByOne(memory)
        with blamed(*BLOCKS):
            return OneByOne(memory, manager.BlockManager(memory.num_blocks, memory.block_size))

    return one_by_one


def stand_in(model: Assembly, piece: str, given: str) -> None:
    """Say what the given code does in the place of a piece, before what keeps yours out."""
    model.owners[piece] = model.owners[piece].replace("given", given, 1)


def needs(works: Mapping[int, Work], number: int, *tasks: str) -> str:
    """Say which tasks of a lab a way needs, and what keeps yours from being used."""
    text = f"this needs your lab {number:02}, task{'s' * (len(tasks) > 1)} {' and '.join(tasks)}"
    work = works.get(number)
    if work is None:
        return text
    left = {task: work.left_out(task) for task in tasks if work.piece(task) is None}
    return "; ".join([text, *(f"{task}: {why}" for task, why in left.items() if why)])
