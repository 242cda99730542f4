"""Generate text with your own pieces of the labs: ``make chat PROMPT="def main("``.

A piece is used if its public tests pass; the given code stands in for the others. The table says
whose each piece is, and why one of yours is left out; ``make run`` leaves none out. With --engine
none is used. The checkpoint continues Python code; it answers no questions. ``make serve`` serves
several texts at once.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from labs.assembly import Assembly, Speed
from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.decoding import Unfit, generate
from labs.engine import Served
from labs.guessing import Guesses, speculate
from labs.pieces import LABS, Broken, Work, work_on
from labs.quantized import Bits
from labs.serving import Memory
from labs.typed import prompts
from labs.ways import BLOCK, paged_way, slots_way

USED = (1, 2, 3, 4, 5)  # labs with pieces of every text
LONGEST = 1024  # tokens of a text in blocks or in a slot

Weights = tuple[LlamaConfig, dict[str, Tensor]]
Write = Callable[[list[int]], tuple[Assembly, list[int], Guesses | None]]  # prompt -> new tokens


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
    compiled = "the step, by your lab 11, or with --engine the engine's, as always on a GPU"
    parser.add_argument("--compile", action="store_true", help=compiled)
    paged = "keep keys and values in blocks, by your lab 12"
    parser.add_argument("--paged", action="store_true", help=paged)
    options = parser.parse_args(arguments)
    if options.engine and options.given:
        parser.error("--engine and --given exclude each other")
    if options.lookup and not options.engine:
        parser.error("--lookup needs --engine")
    told = {"--paged": options.paged, "--compile": options.compile and not options.engine}
    told |= {"--speculate": options.speculate is not None and not options.engine}
    if sum(told.values()) > 1 or (options.paged and options.engine):
        parser.error("--paged, --compile, --speculate and --engine: each without the others")
    if options.lookup and options.speculate is None:
        parser.error("--lookup needs --speculate")
    if min(options.max_new_tokens, options.temperature, options.speculate or 0) < 0:
        parser.error("--max-new-tokens, --temperature and --speculate must be 0 or more")
    options.quantize = Bits(options.quantize) if options.quantize else None
    return options


def checkpoint(folder: Path, options: argparse.Namespace) -> Weights:
    """Load a model; in float32 where bfloat16 would change the text or be wrong.

    A call with guesses, or one that is compiled or padded, rounds otherwise than one without, and
    Triton's interpreter, in which a kernel of yours runs here, multiplies bit patterns.
    """
    config, weights = LlamaConfig.from_pretrained(folder), load_weights(folder)
    if options.quantize or options.speculate is not None or serves(options):
        weights = {name: weight.float() for name, weight in weights.items()}
    return config, weights


def serves(options: argparse.Namespace) -> bool:
    """True if labs 11 or 12 are to write."""
    return (options.compile or options.paged) and not options.engine


def works_for(options: argparse.Namespace) -> dict[int, Work]:
    """Ask the judge about the labs that the options need."""
    if options.given:
        return {}
    wanted: list[int] = list(USED)
    if options.quantize or options.paged:
        os.environ.setdefault("TRITON_INTERPRET", "1")  # for kernels of yours: this runs on the CPU
    asked = {9: options.quantize, 10: options.speculate is not None}
    asked |= {11: options.compile, 12: serves(options)}
    wanted += [number for number, needed in asked.items() if needed]
    return {number: work_on(number) for number in wanted}


def writer(
    options: argparse.Namespace, works: dict[int, Work], target: Weights, small: Weights | None
) -> Write:
    """Return what continues a prompt, by the pieces that the options ask for."""
    if serves(options):
        model = Assembly(works, *target, options.quantize)
        room = min(LONGEST, model.config.max_position_embeddings)
        if options.compile:
            way = slots_way(model, works, Memory(1, room), compiled=True)
        else:
            way = paged_way(model, works, Memory(room // BLOCK, BLOCK), 1, kernel=False)
        return lambda prompt: (model, way.serve([prompt], options, works).new[0], None)

    def write(prompt: list[int]) -> tuple[Assembly, list[int], Guesses | None]:
        # Models for each text: their speed is that of one prompt.
        model = Assembly(works, *target, options.quantize)
        if small is None:
            return model, generate(model, prompt, options, works), None
        return model, *speculate(model, Assembly(works, *small), prompt, options, works)

    return write


def answer(
    text: str,
    model: Assembly,
    new: list[int],
    guesses: Guesses | None,
    tokenizer: Any,
    prompt: list[int],
) -> None:
    """Print the text with its continuation, whose the pieces are, and the speed."""
    print(text + tokenizer.decode(new))
    width = max(map(len, model.owners))
    for name, owner in model.owners.items():
        print(f"  {name:{width}}  {owner}", file=sys.stderr)
    read = f"{len(prompt)} tokens read, {len(new)} written"
    print(f"  {read}: {_rates(model.speed)}, in {model.dtype}", file=sys.stderr)
    if guesses is not None:
        print(f"  {guesses}", file=sys.stderr)


def _rates(speed: Speed) -> str:
    return ", ".join(f"{phase} {speed.per_second(phase):,.0f} tokens/s" for phase in speed.tokens)


def compare(
    target: Weights, prompt: list[int], options: argparse.Namespace, works: dict[int, Work]
) -> None:
    """Print how fast the given code writes the same, but for what picks its tokens."""
    given = Assembly({}, *target)
    sampling = {number: work for number, work in works.items() if number == 3}
    generate(given, prompt, options, sampling)
    print(f"  the given code, without a cache: {_rates(given.speed)}", file=sys.stderr)


def serve(options: argparse.Namespace) -> None:
    """Let the reference engine answer every text."""
    lines = prompts(options.prompt)
    served = Served(options)
    for line in lines:
        served.answer(line)


def speak(options: argparse.Namespace) -> None:
    """Let your pieces answer every text."""
    lines = prompts(options.prompt)
    target, tokenizer = checkpoint(options.model, options), load_tokenizer(options.model)
    guessing = options.speculate is not None
    if guessing and not options.draft.is_dir():
        raise Unfit(f"--speculate needs a draft: no checkpoint at {options.draft}")
    small = checkpoint(options.draft, options) if guessing else None
    works = works_for(options)
    write = writer(options, works, target, small)
    for line in lines:
        prompt = tokenizer.encode(line)
        if not prompt:
            raise Unfit("the prompt is empty")
        answer(line, *write(prompt), tokenizer, prompt)
        if serves(options):
            compare(target, prompt, options, works)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program: 1 if a piece of labs 11 or 12 breaks, 2 for what cannot be served."""
    options = parse(arguments)
    try:
        if options.engine:
            serve(options)
        else:
            speak(options)
    except KeyboardInterrupt:
        return 130
    except Broken as broken:
        print(f"error: {broken}\nhint: make grade LAB={broken.number}", file=sys.stderr)
        return 1
    except (Unfit, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
