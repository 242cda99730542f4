"""What ``make run`` shows of labs 11 and 12: their text, and what they did on the way.

Nothing of other labs is used. The given Llama computes in float32, in which neither padding nor
the size of a batch changes a token.
"""

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from labs.common import LlamaConfig, load_weights
from labs.paging import Paged
from labs.serving import Memory, Serving, drawn

SIZES = [16, 64, 256]  # buckets of prompts
BLOCK, ROWS = 8, 3  # tokens of a block, texts at once
UNSURE = 1e-3  # of a logit: two tokens that are so near may change places by rounding

Generate = Callable[[list[int], int], list[int]]  # prompt, most new tokens -> new tokens


def given_llama(folder: Path) -> Any:
    """Return the given model; its file is not in every student's tree."""
    weights = {name: weight.float() for name, weight in load_weights(folder).items()}
    return importlib.import_module("labs.llama").Llama(LlamaConfig.from_pretrained(folder), weights)


class Graphs:
    """A backend for torch.compile, which counts graphs and their calls, and runs them eager."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, graph: Any, examples: list[Any]) -> Callable[..., Any]:
        number = len(self.calls)
        self.calls.append(0)

        def run(*inputs: Any) -> Any:
            self.calls[number] += 1
            return graph.forward(*inputs)

        return run

    def __str__(self) -> str:
        each = ", ".join(map(str, self.calls))
        made = f"{_many(len(self.calls), 'graph')} compiled, calls of each: {each or 'none'}"
        enough = len(self.calls) <= 2
        return made if enough else f"{made}; two would do, for the prompt and for all steps"


def compiled(module: ModuleType, folder: Path) -> Generate:
    """Lab 11: your generate, and then the same tokens by your GraphRunner."""
    model = given_llama(folder)

    def generate(prompt: list[int], most: int) -> list[int]:
        graphs, room = Graphs(), len(prompt) + most
        sizes = [*(size for size in SIZES if size < room), room]
        ends = model.config.eos_token_ids
        new = module.generate(model, list(prompt), most, ends, room, sizes, graphs)
        print(f"generate: {graphs}")
        print(f"GraphRunner: {replayed(module, model, prompt, new)}\n")
        return new

    return generate


@torch.no_grad()
def replayed(module: ModuleType, model: Any, prompt: list[int], new: list[int]) -> str:
    """Put a text through a ``GraphRunner``, token by token in slot 1, and say what came of it."""
    tape = importlib.import_module("labs.tape").Tape
    made: list[Any] = []

    def make_graph() -> Any:
        made.append(tape())
        return made[-1]

    text = prompt + new
    try:
        cache = module.StaticCache(model.config, 2, len(text) + 1, torch.float32, "cpu")
        runner = module.GraphRunner(model, cache, [1, 2], make_graph)
        rows: list[Tensor] = [runner.step([text[i]], [i], [1])[0] for i in range(len(text))]
        said = torch.stack(rows).argmax(-1).tolist()[len(prompt) - 1 : -1]
        captured = sorted(runner.captured)
    except NotImplementedError:
        return "not written yet"
    replays = sum(graph.replays for graph in made)
    times = f"{_many(replays, 'replay')} for {_many(len(text), 'token')}"
    did = f"{times}, of graphs for {captured} rows"
    place = next((i for i, (a, b) in enumerate(zip(said, new, strict=True)) if a != b), None)
    if place is None:
        return f"{did}; it says the same"
    return f"{did}; but from new token {place} on it says others"


def paged(module: ModuleType, folder: Path, encode: Callable[[str], list[int]]) -> Generate:
    """Lab 12: your Scheduler with your write_kv and attention; the prompt is one of four.

    There are too few blocks and rows for all of them, so that texts wait, and have to go.
    """
    model = given_llama(folder)

    def generate(prompt: list[int], most: int) -> list[int]:
        if most == 0:
            return []
        prompts = [encode("import os"), prompt, encode("x = "), encode("class Node")]
        each = [-(-(len(one) + most) // BLOCK) for one in prompts]
        memory = Memory(max(max(each), sum(each) // 2), BLOCK)
        room = memory.num_blocks * BLOCK
        scheduler = module.Scheduler(memory.num_blocks, BLOCK, ROWS, room)
        compute = Paged(model, model.config, torch.float32, memory, module)
        serving = Serving(scheduler, memory, prompts, most, model.config.eos_token_ids, ROWS)
        served = serving.serve(compute, lambda _: lambda logits: int(logits.argmax(-1)))
        print("your scheduler, a sign a step; text 2 is the prompt's", *drawn(served), sep="\n")
        print(f"  at most {served.most_blocks} of {memory.num_blocks} blocks of {BLOCK} in use")
        for number, pair in enumerate(zip(prompts, served.new, strict=True)):
            place = parts(model, *pair)
            if number != 1 and place is not None:
                print(f"  text {number + 1} leaves what the model says at new token {place}")
        print()
        return served.new[1]

    return generate


@torch.no_grad()
def parts(model: Any, prompt: list[int], new: list[int]) -> int | None:
    """Return the place of the first new token that the model would not say after those before."""
    tokens = torch.tensor([prompt + new])
    logits = model(tokens, torch.arange(tokens.shape[1])[None])[0, len(prompt) - 1 : -1]
    said = logits.gather(1, torch.tensor(new, dtype=torch.int64)[:, None])[:, 0]
    wrong = (logits.amax(1) - said > UNSURE).nonzero()
    return int(wrong[0]) if len(wrong) else None


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
