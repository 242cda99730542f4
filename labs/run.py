"""Generate text with your own code of one lab, beside transformers' model of the same weights.

``make run LAB=1 PROMPT="def main("``. Nothing of yours is left out and nothing is swapped in: where
your text leaves what the right model would say, the last line tells at which token.
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from labs import alone
from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.pieces import LABS, Broken, load

AROUND = 3  # tokens on each side of the place where texts part
# Of a logit: two tokens that are so near may change places by rounding.
UNSURE = {torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.3}

Engine = Callable[[list[int], int], list[int]]  # prompt, most new tokens -> new tokens


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model folder and its tokenizer."""

    folder: Path
    tokenizer: Any

    def shown(self, tokens: Sequence[int]) -> str:
        """Return tokens as text in one line."""
        return repr(self.tokenizer.decode(list(tokens)))


def llama_engine(module: ModuleType, at: Checkpoint) -> Engine:
    """Lab 01: your Engine."""
    return module.Engine(str(at.folder)).generate


def batch_engine(module: ModuleType, at: Checkpoint) -> Engine:
    """Lab 02: your BatchEngine, which takes and gives texts; the prompt is one of three."""
    engine = module.BatchEngine(str(at.folder))

    def generate(prompt: list[int], most: int) -> list[int]:
        text = at.tokenizer.decode(prompt)
        new = engine.execute(["import os", text, "x = "], most)[1]
        return at.tokenizer.encode(text + new)[len(prompt) :]

    return generate


def cached_engine(module: ModuleType, at: Checkpoint) -> Engine:
    """Lab 05: your generate with your growing cache, around the given model."""
    config = LlamaConfig.from_pretrained(at.folder)
    model = importlib.import_module("labs.llama").Llama(config, load_weights(at.folder))

    def generate(prompt: list[int], most: int) -> list[int]:
        return module.generate(model, prompt, most, config.eos_token_ids, module.GrowingCache)

    return generate


def graph_engine(module: ModuleType, at: Checkpoint) -> Engine:
    """Lab 11: your generate, its graphs counted, and your GraphRunner."""
    return alone.compiled(module, at.folder)


def paged_engine(module: ModuleType, at: Checkpoint) -> Engine:
    """Lab 12: your Scheduler, write_kv and attention; the prompt is one of four."""
    return alone.paged(module, at.folder, at.tokenizer.encode)


ENGINES = {
    1: llama_engine,
    2: batch_engine,
    5: cached_engine,
    11: graph_engine,
    12: paged_engine,
}


def right_model(at: Checkpoint) -> Any:
    """Return transformers' model in the dtype of the weights."""
    # Importing it takes seconds: a typing error should not wait for that.
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    return AutoModelForCausalLM.from_pretrained(at.folder, dtype="auto").eval()


@torch.inference_mode()
def greedy(model: Any, prompt: list[int], most: int, ends: Sequence[int]) -> list[int]:
    """Return the greedy continuation, without the token that ends it."""
    said: list[int] = []
    while len(said) < most:
        best = int(model(torch.tensor([prompt + said])).logits[0, -1].argmax())
        if best in ends:
            break
        said.append(best)
    return said


@torch.inference_mode()
def first_flaw(
    model: Any, prompt: list[int], yours: list[int], most: int, ends: Sequence[int]
) -> tuple[int, int] | None:
    """Return the place of your first token that the right model would not say, and its own.

    Each token is held against what the model says after your own tokens before it: one near tie
    that rounding decides otherwise is no mistake, and what follows is still compared.
    """
    logits = model(torch.tensor([[*prompt, *yours]])).logits[0, len(prompt) - 1 :].float()
    allowed = UNSURE[model.dtype]
    for place, row in enumerate(logits[: len(yours) + (len(yours) < most)]):
        said = row[[yours[place]]] if place < len(yours) else row[list(ends)]
        if row.max() - said.max() > allowed:
            return place, int(row.argmax())
    return None


def compare(at: Checkpoint, flaw: tuple[int, int] | None, yours: list[int]) -> list[str]:
    """Say in lines where your tokens leave what the right model would say."""
    if flaw is None:
        return [f"all {len(yours)} tokens of yours are what the right model says after them"]
    place, token = flaw
    shown = at.shown([yours[place]]) if place < len(yours) else "the end"
    after = at.shown(yours[max(0, place - AROUND) : place]) if place else "the prompt"
    says = f"yours says {shown}, not {at.shown([token])}"
    return [f"they part at new token {place}, after {after}: {says}"]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="run", description=__doc__)
    parser.add_argument("lab", help="one of " + ", ".join(map(str, ENGINES)))
    parser.add_argument("prompt", nargs="?", default="def main(")
    parser.add_argument("--max-new-tokens", type=int, default=48, metavar="N")
    model = Path(os.environ.get("MODEL") or LABS / "checkpoints" / "target")
    parser.add_argument("--model", type=Path, default=model, metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.max_new_tokens < 0:
        parser.error("--max-new-tokens must be 0 or more")
    return options


def student_file(text: str) -> tuple[int, Path]:
    """Return the number of a lab and the student's file; ValueError for one that runs no model."""
    number = text.partition("_")[0].lstrip("0")
    if not number.isdigit() or int(number) not in ENGINES:
        known = ", ".join(map(str, ENGINES))
        other = "make speculate" if number == "10" else "make chat"
        raise ValueError(f"lab {text} runs no model of its own: labs {known} do; try {other}")
    folder = next(LABS.glob(f"{int(number):02}_*"), None)
    if folder is None:
        raise ValueError(f"lab {number} is not here yet")
    return int(number), folder / f"{folder.name[3:]}.py"


def own_text(number: int, file: Path, at: Checkpoint, prompt: list[int], most: int) -> list[int]:
    """Run the student's code; what it returns must be token ids."""
    module = load(file, number)
    new = ENGINES[number](module, at)(prompt, most)
    if not isinstance(new, list) or not all(type(token) is int for token in new):
        raise TypeError(f"generate should return a list of ints, not {new!r:.80}")
    return new


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program: 0 if the texts are the same, 1 if they part or your code raises, 2 else."""
    options = parse(arguments)
    try:
        number, file = student_file(options.lab)
        at = Checkpoint(options.model, load_tokenizer(options.model))
        config = LlamaConfig.from_pretrained(options.model)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    prompt = at.tokenizer.encode(options.prompt)
    if not prompt:
        print("error: the prompt is empty", file=sys.stderr)
        return 2
    model = right_model(at)
    right = greedy(model, prompt, options.max_new_tokens, config.eos_token_ids)
    print(f"right:\n{options.prompt}{at.tokenizer.decode(right)}\n")
    try:
        yours = own_text(number, file, at, prompt, options.max_new_tokens)
        print(f"yours:\n{options.prompt}{at.tokenizer.decode(yours)}\n")
    except Exception as error:
        print("yours:", file=sys.stderr)
        print(_own_lines(file, error), file=sys.stderr)
        return 1
    flaw = first_flaw(model, prompt, yours, options.max_new_tokens, config.eos_token_ids)
    print("\n".join(compare(at, flaw, yours)))
    return int(flaw is not None)


def _own_lines(file: Path, error: BaseException) -> str:
    """Return the traceback of an exception from the student's first line on."""
    if isinstance(error, Broken):
        if error.__cause__ is None:
            return f"error: {error}"
        error = error.__cause__
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(file):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace)).rstrip()


if __name__ == "__main__":
    sys.exit(main())
