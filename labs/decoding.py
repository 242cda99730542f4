"""Text, token by token: what picks the next one, and the loop around a model."""

import argparse
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from labs.assembly import Assembly, Filter, given_since
from labs.pieces import Work

FILTERS = ("top_k", "top_p", "min_p", "repetition_penalty")
Choose = Callable[[Tensor], int]  # logits [1, V] of the last position -> token


class Unfit(Exception):
    """An option asks for a piece that is not there."""


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
    given = given_since(works, [(3, "filters"), (3, "sampler")])
    owners["sampling"] = "yours, lab 03" if module else given
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
