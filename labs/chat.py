"""Generate text with your own pieces of labs 01 to 05: ``make chat PROMPT="def main("``.

A piece is used if its public tests pass; the given code stands in for the others. The table says
whose each piece is. The checkpoint continues Python code; it answers no questions.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from labs.assembly import Assembly, Filter
from labs.common import LlamaConfig, load_tokenizer, load_weights
from labs.pieces import LABS, Work, work_on

USED = (1, 2, 3, 4, 5)  # labs with pieces of a text
FILTERS = ("top_k", "top_p", "min_p", "repetition_penalty")
Choose = Callable[[Tensor], int]  # logits [1, V] of the last position -> token


class Unfit(Exception):
    """An option asks for a piece that is not there."""


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
    default = os.environ.get("MODEL") or str(LABS / "checkpoints" / "target")
    parser.add_argument("--model", type=Path, default=Path(default), metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.max_new_tokens < 0 or options.temperature < 0:
        parser.error("--max-new-tokens and --temperature must be 0 or more")
    return options


def chooser(
    options: argparse.Namespace, works: dict[int, Work], owners: dict[str, str], history: list[int]
) -> Choose:
    """Return what picks the next token; ``history`` grows while it is used."""
    generator = torch.Generator().manual_seed(options.seed)
    work = works.get(3)
    module = work.module if work and {"filters", "sampler"} <= work.passed else None
    wanted = [name for name in FILTERS if getattr(options, name) is not None]
    if wanted and (module is None or options.temperature == 0):
        flag = f"--{wanted[0].replace('_', '-')}"
        missing = "your lab 03" if module is None else "a --temperature above 0"
        raise Unfit(f"{flag} needs {missing}")
    owners["sampling"] = "yours, lab 03" if module else "given"
    if module is not None:
        sampler = _sampler(module, options, wanted, history)
        return lambda logits: int(sampler(logits, generator))
    if options.temperature == 0:
        return lambda logits: int(logits.argmax(-1))
    return lambda logits: int(
        torch.multinomial(
            (logits.float() / options.temperature).softmax(-1), 1, generator=generator
        )
    )


def _sampler(
    module: ModuleType, options: argparse.Namespace, wanted: list[str], history: list[int]
) -> Any:
    if options.temperature == 0:
        return module.Sampler(greedy=True)
    filters: list[Filter] = [lambda logits: module.temperature(logits, options.temperature)]
    for name in wanted:
        value, function = getattr(options, name), getattr(module, name)
        if name == "repetition_penalty":  # of the plain logits, as in Hugging Face
            filters.insert(0, lambda x, f=function, v=value: f(x, [history], v))
        else:
            filters.append(lambda x, f=function, v=value: f(x, v))
    return module.Sampler(*filters)


def generate(
    model: Assembly, prompt: list[int], options: argparse.Namespace, works: dict[int, Work]
) -> list[int]:
    """Return the new tokens; without a cache each step passes the whole text."""
    history = list(prompt)
    choose = chooser(options, works, model.owners, history)
    caches = model.make_caches(len(prompt) + options.max_new_tokens)
    model.begin()
    new: list[int] = []
    step, start = prompt, 0
    while len(new) < options.max_new_tokens:
        logits = model(*model.lay_out(step, start), caches)
        token = choose(logits[:, -1])
        if token in model.config.eos_token_ids:
            break
        new.append(token)
        history.append(token)
        start, step = (start + len(step), [token]) if caches else (0, history)
    return new


def answer(
    model: Assembly, tokenizer: Any, text: str, options: Any, works: dict[int, Work]
) -> None:
    """Print the text with its continuation, whose the pieces are, and the speed."""
    prompt = tokenizer.encode(text)
    if not prompt:
        raise Unfit("the prompt is empty")
    new = generate(model, prompt, options, works)
    print(text + tokenizer.decode(new))
    width = max(map(len, model.owners))
    for name, owner in model.owners.items():
        print(f"  {name:{width}}  {owner}", file=sys.stderr)
    speed = model.speed
    rates = ", ".join(f"{phase} {speed.per_second(phase):,.0f} tokens/s" for phase in speed.tokens)
    print(f"  {len(prompt)} tokens read, {len(new)} written: {rates}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; 2 for an option that cannot be served."""
    options = parse(arguments)
    try:
        config = LlamaConfig.from_pretrained(options.model)
        weights, tokenizer = load_weights(options.model), load_tokenizer(options.model)
        works = {} if options.given else {number: work_on(number) for number in USED}
        lines = [options.prompt] if options.prompt is not None else sys.stdin
        for line in lines:
            # A model for each text: its speed is that of one prompt.
            model = Assembly(works, config, weights)
            answer(model, tokenizer, line.rstrip("\n"), options, works)
    except (Unfit, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
