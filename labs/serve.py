"""Serve four texts at once with your own labs 11 and 12: ``make serve``.

The given code, which has no cache and lets one text follow another, says what the texts are and
how fast it is. Then your scheduler serves them: over your blocks of lab 12, over your slots of lab
11 by graphs, and with --compile by the compiled step. A piece is used if its public tests pass.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from labs.assembly import Assembly
from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.decoding import FILTERS, Unfit
from labs.pieces import LABS, Broken, Work, work_on
from labs.serving import Memory, Served, drawn
from labs.ways import BLOCK, Way, given_way, paged_way, slots_way

USED = (1, 3, 4, 11, 12)  # labs whose pieces serve several texts
CHECKPOINTS = ("target",)
BEGINNING = "import os\nimport sys\n\n\n"  # which blocks may share
ENDS = ("def main(", "class Node", "def read(path", "def test_")
PROMPTS = tuple(BEGINNING + text for text in ENDS)


@dataclass(frozen=True, slots=True)
class Model:
    """A checkpoint in float32: in bfloat16 the size of a batch already changes the text."""

    config: LlamaConfig
    weights: dict[str, Tensor]
    tokenizer: Any

    @classmethod
    def load(cls, folder: Path) -> "Model":
        """Read a checkpoint folder."""
        weights = {name: weight.float() for name, weight in load_weights(folder).items()}
        return cls(LlamaConfig.from_pretrained(folder), weights, load_tokenizer(folder))

    def put_together(self, works: Mapping[int, Work]) -> Assembly:
        """Return the model with your pieces in it."""
        return Assembly(works, self.config, self.weights)


@dataclass(frozen=True, slots=True)
class Run:
    """What a way made of all prompts, and the seconds that it took."""

    served: Served
    seconds: float

    @property
    def rate(self) -> float:
        """Tokens per second of all texts together; prompts count as time, not as tokens."""
        return sum(map(len, self.served.new)) / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        made = sum(map(len, self.served.new))
        return f"{made} tokens in {len(self.served.steps)} steps: {self.rate:,.0f} tokens/s"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="serve", description=__doc__)
    parser.add_argument("prompts", nargs="*", help="without one, four beginnings of Python files")
    parser.add_argument("--max-new-tokens", type=int, default=32, metavar="N")
    parser.add_argument("--rows", type=int, default=4, metavar="N", help="of a batch, at most")
    parser.add_argument("--blocks", type=int, metavar="N", help=f"of {BLOCK} tokens; fewer preempt")
    parser.add_argument("--compile", action="store_true", help="time the compiled step as well")
    kernel = "attend by your Triton kernel, which is interpreted on a CPU"
    parser.add_argument("--kernel", action="store_true", help=kernel)
    model = Path(os.environ.get("MODEL") or LABS / "checkpoints" / CHECKPOINTS[0])
    parser.add_argument("--model", type=Path, default=model, metavar="FOLDER")
    options = parser.parse_args(arguments)
    if min(options.max_new_tokens, options.rows, options.blocks or 1) < 1:
        parser.error("--max-new-tokens, --rows and --blocks must be 1 or more")
    options.prompts = options.prompts or list(PROMPTS)
    options.temperature, options.seed = 0.0, 0  # the best token: texts can be compared
    for name in FILTERS:
        setattr(options, name, None)
    return options


class Demonstration:
    """The prompts, what the given code makes of them, and each way beside it."""

    def __init__(self, options: argparse.Namespace, works: dict[int, Work]) -> None:
        self._options, self._works = options, works
        self._model = Model.load(options.model)
        self._prompts = [self._model.tokenizer.encode(text) for text in options.prompts]
        if not all(self._prompts):
            raise Unfit("a prompt is empty")
        self._longest = max(map(len, self._prompts)) + options.max_new_tokens
        if self._longest > self._model.config.max_position_embeddings:
            known = self._model.config.max_position_embeddings
            raise Unfit(f"a text of {self._longest} tokens is longer than the model's {known}")
        each = -(-self._longest // BLOCK)
        blocks = options.blocks or each * len(self._prompts)
        if blocks < each:
            raise Unfit(f"--blocks {blocks} do not hold a text, which needs {each}")
        self._blocks = Memory(blocks, BLOCK)
        self._slots = Memory(options.rows, self._longest)
        self._given = self._timed(given_way(self._model.put_together({}), self._blocks), {})

    def show_texts(self) -> None:
        """Print what the given code says, and how fast."""
        for number, new in enumerate(self._given.served.new):
            text = self._options.prompts[number] + self._model.tokenizer.decode(new)
            print(f"text {number + 1}\n{_indented(text)}\n")
        print("the given code: one text after another, and every step repeats the whole text")
        print(f"  {self._given}")

    def ways(self) -> dict[str, Callable[[Assembly], Way]]:
        """Return by name what makes each way."""
        works, wish = self._works, self._options
        ways: dict[str, Callable[[Assembly], Way]] = {
            "blocks (lab 12)": lambda model: paged_way(
                model, works, self._blocks, wish.rows, kernel=wish.kernel
            ),
            "slots and graphs (lab 11)": lambda model: slots_way(
                model, works, self._slots, compiled=False
            ),
        }
        if wish.compile:
            ways["slots and the compiled step (lab 11)"] = lambda model: slots_way(
                model, works, self._slots, compiled=True
            )
        return ways

    def show(self, name: str, make: Callable[[Assembly], Way]) -> bool:
        """Serve by a way and print what came of it; False if it is broken or says otherwise."""
        print(f"\n{name}", flush=True)
        model = self._model.put_together(self._works)
        try:
            started = time.perf_counter()
            way = make(model)
            ready = time.perf_counter() - started
            run = self._timed(way, self._works)
        except Unfit as unfit:
            print(f"  left out: {unfit}")
            return True
        except Broken as broken:
            print(f"  error: {broken}\n  hint: make grade LAB={broken.number}")
            return False
        width = max(map(len, model.owners))
        for piece, owner in model.owners.items():
            print(f"  {piece:{width}}  {owner}")
        print("\n".join(drawn(run.served)))
        if ready > 1:
            print(f"  compiled and captured in {ready:.0f} s, before the clock started")
        told = f"{run.rate / self._given.rate:.2g} times the given code's" if run.rate else ""
        print(f"  {run}, {told}")
        self._show_memory(run.served, way.memory)
        return self._show_difference(run.served)

    def _timed(self, way: Way, works: dict[int, Work]) -> Run:
        started = time.perf_counter()
        served = way.serve(self._prompts, self._options, works)
        return Run(served, time.perf_counter() - started)

    def _show_memory(self, served: Served, memory: Memory) -> None:
        if memory is not self._blocks:
            return
        shared = f", {served.shared} tokens of prompts shared" if served.shared else ""
        gone = sum(len(step.preempted) for step in served.steps)
        preempted = f", {gone} times a text had to go" if gone else ""
        used = f"{served.most_blocks} of {memory.num_blocks} blocks of {memory.block_size} tokens"
        print(f"  at most {used} in use{shared}{preempted}")

    def _show_difference(self, served: Served) -> bool:
        pairs = zip(served.new, self._given.served.new, strict=True)
        for number, (yours, given) in enumerate(pairs):
            if yours != given:
                same = next(
                    (i for i, (a, b) in enumerate(zip(yours, given, strict=False)) if a != b),
                    min(len(yours), len(given)),
                )
                decode = self._model.tokenizer.decode
                said = f"yours goes on {decode(yours[same:])!r:.40}"
                place = f"text {number + 1} parts from the given code's at new token {same}"
                print(f"  {place}: {said}")
                return False
        print("  all texts are the given code's")
        return True


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.splitlines())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program: 1 if a piece of yours breaks or texts part, 2 for what cannot be served."""
    options = parse(arguments)
    os.environ.setdefault("TRITON_INTERPRET", "1")  # for kernels of yours: this runs on the CPU
    try:
        shown = Demonstration(options, {number: work_on(number) for number in USED})
        shown.show_texts()
        right = [shown.show(name, make) for name, make in shown.ways().items()]
    except KeyboardInterrupt:
        return 130
    except (Unfit, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
