"""Generate text with your own pieces of the labs: ``make chat PROMPT="def main("``.

A piece is used if its public tests pass; the given code stands in for the others. The table says
whose each piece is, and why one of yours is left out; ``make run`` leaves none out. With --engine
none is used. The checkpoint continues Python code; it answers no questions.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from labs.assembly import Assembly
from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.decoding import Unfit, generate
from labs.engine import Served
from labs.guessing import speculate
from labs.pieces import LABS, Work, work_on
from labs.quantized import Bits

USED = (1, 2, 3, 4, 5)  # labs with pieces of every text


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="chat", description=__doc__)
    parser.add_argument("prompt", nargs="?", help="without one, lines are read from the terminal")
    parser.add_argument("--max-new-tokens", type=int, default=64, metavar="N")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 takes the best token")
    parser.add_argument("--top-k", type=int, metavar="K", help="needs your lab 03")
    parser.add_argument("--top-p", type=float, metavar="P", help="needs your lab 03")
    parser.add_argument("--min-p", type=float, metavar="P", help="needs your lab 03")
    parser.add_argument("--repetition-penalty", type=float, metavar="X", help="needs your lab 03")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--given", action="store_true", help="use no piece of yours")
    sizes = [bits.value for bits in Bits]
    parser.add_argument("--quantize", choices=sizes, help="the weights, by your lab 09")
    guesses = "let a draft guess K tokens a round; needs your lab 10"
    parser.add_argument("--speculate", type=int, metavar="K", help=guesses)
    checkpoints = LABS / "checkpoints"
    model = Path(os.environ.get("MODEL") or checkpoints / "target")
    parser.add_argument("--model", type=Path, default=model, metavar="FOLDER")
    parser.add_argument("--draft", type=Path, default=checkpoints / "draft", metavar="FOLDER")
    engine = "let the reference engine write, which only the instructors' repository has"
    parser.add_argument("--engine", action="store_true", help=engine)
    looked = "with --engine and --speculate: guess from the text itself, not by the draft"
    parser.add_argument("--lookup", action="store_true", help=looked)
    compiled = "with --engine: compile the step first, as is always done on a GPU"
    parser.add_argument("--compile", action="store_true", help=compiled)
    options = parser.parse_args(arguments)
    if options.engine and options.given:
        parser.error("--engine and --given exclude each other")
    for name in ("lookup", "compile"):
        if getattr(options, name) and not options.engine:
            parser.error(f"--{name} needs --engine")
    if options.lookup and options.speculate is None:
        parser.error("--lookup needs --speculate")
    if min(options.max_new_tokens, options.temperature, options.speculate or 0) < 0:
        parser.error("--max-new-tokens, --temperature and --speculate must be 0 or more")
    options.quantize = Bits(options.quantize) if options.quantize else None
    return options


def checkpoint(folder: Path, options: argparse.Namespace) -> tuple[LlamaConfig, dict[str, Tensor]]:
    """Load a model; in float32 where bfloat16 would change the text or be wrong.

    A call with guesses rounds otherwise than one without, and Triton's interpreter, in which a
    kernel of yours runs here, multiplies bit patterns.
    """
    config, weights = LlamaConfig.from_pretrained(folder), load_weights(folder)
    if options.quantize or options.speculate is not None:
        weights = {name: weight.float() for name, weight in weights.items()}
    return config, weights


def works_for(options: argparse.Namespace) -> dict[int, Work]:
    """Ask the judge about the labs that the options need."""
    if options.given:
        return {}
    wanted: list[int] = list(USED)
    if options.quantize:
        os.environ.setdefault("TRITON_INTERPRET", "1")  # for kernels of yours: this runs on the CPU
        wanted.append(9)
    if options.speculate is not None:
        wanted.append(10)
    return {number: work_on(number) for number in wanted}


def answer(
    model: Assembly,
    draft: Assembly | None,
    tokenizer: Any,
    text: str,
    options: argparse.Namespace,
    works: dict[int, Work],
) -> None:
    """Print the text with its continuation, whose the pieces are, and the speed."""
    prompt = tokenizer.encode(text)
    if not prompt:
        raise Unfit("the prompt is empty")
    guesses = None
    if draft is None:
        new = generate(model, prompt, options, works)
    else:
        new, guesses = speculate(model, draft, prompt, options, works)
    print(text + tokenizer.decode(new))
    width = max(map(len, model.owners))
    for name, owner in model.owners.items():
        print(f"  {name:{width}}  {owner}", file=sys.stderr)
    speed = model.speed
    rates = ", ".join(f"{phase} {speed.per_second(phase):,.0f} tokens/s" for phase in speed.tokens)
    read = f"{len(prompt)} tokens read, {len(new)} written"
    print(f"  {read}: {rates}, in {model.dtype}", file=sys.stderr)
    if guesses is not None:
        print(f"  {guesses}", file=sys.stderr)


def serve(options: argparse.Namespace) -> None:
    """Let the reference engine answer every text."""
    served = Served(options)
    for line in [options.prompt] if options.prompt is not None else sys.stdin:
        served.answer(line.rstrip("\n"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; 2 for an option that cannot be served."""
    options = parse(arguments)
    try:
        if options.engine:
            serve(options)
            return 0
        target, tokenizer = checkpoint(options.model, options), load_tokenizer(options.model)
        guessing = options.speculate is not None
        if guessing and not options.draft.is_dir():
            raise Unfit(f"--speculate needs a draft: no checkpoint at {options.draft}")
        small = checkpoint(options.draft, options) if guessing else None
        works = works_for(options)
        lines = [options.prompt] if options.prompt is not None else sys.stdin
        for line in lines:
            # Models for each text: their speed is that of one prompt.
            model = Assembly(works, *target, options.quantize)
            draft = Assembly(works, *small) if small else None
            answer(model, draft, tokenizer, line.rstrip("\n"), options, works)
    except (Unfit, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
