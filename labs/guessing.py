"""Text with guesses of a smaller model, by your lab 10."""

import argparse
from dataclasses import dataclass
from types import ModuleType

import torch

from labs.assembly import Assembly, Speed
from labs.decoding import FILTERS, Unfit
from labs.pieces import Work
from labs.reader import Reader


@dataclass(frozen=True, slots=True)
class Guesses:
    """What became of the guesses of one text."""

    k: int
    drafted: int
    accepted: int
    tokens: int
    calls: int  # of the target

    def __str__(self) -> str:
        share = f" ({self.accepted / self.drafted:.0%})" if self.drafted else ""
        return (
            f"{self.k} guesses a round: {self.accepted} of {self.drafted} accepted{share}, "
            f"{self.tokens / max(self.calls, 1):.2f} tokens a call of the target"
        )


def speculate(
    target: Assembly,
    draft: Assembly,
    prompt: list[int],
    options: argparse.Namespace,
    works: dict[int, Work],
) -> tuple[list[int], Guesses]:
    """Return the new tokens, and what the guesses were worth; the target's speed is of both."""
    module = _speculation(options, works)
    if target.config.vocab_size != draft.config.vocab_size:
        sizes = f"{draft.config.vocab_size} and {target.config.vocab_size}"
        raise Unfit(f"draft and model have different vocabularies, of {sizes} tokens")
    target.owners["speculation"] = "yours, lab 10"
    room = len(prompt) + options.max_new_tokens + options.speculate + 1
    readers = Reader(target, room), Reader(draft, room)
    new, stats = module.speculative_generate(
        *readers,
        prompt,
        options.speculate,
        options.max_new_tokens,
        target.config.eos_token_ids,
        options.temperature,
        torch.Generator().manual_seed(options.seed),
    )
    target.speed = joint(target.speed, draft.speed, len(prompt), len(new))
    made = stats["drafted"], stats["accepted"], len(new), readers[0].calls
    return new, Guesses(options.speculate, *made)


def _speculation(options: argparse.Namespace, works: dict[int, Work]) -> ModuleType:
    """Return your lab 10; Unfit if what is needed of it does not pass, or does not go with it."""
    for name in FILTERS:
        if getattr(options, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            raise Unfit(f"{flag} does not go with --speculate: lab 10 has no filters")
    needed = ["sample" if options.temperature else "greedy", "generate"]
    work = works.get(10)
    if work is None or work.module is None or not work.passed.issuperset(needed):
        raise Unfit(f"--speculate needs your lab 10, tasks {' and '.join(needed)}")
    return work.module


def joint(target: Speed, draft: Speed, read: int, written: int) -> Speed:
    """Return the speed of a text that both wrote; its first token belongs to the prompt."""
    seconds = {phase: target.seconds[phase] + draft.seconds[phase] for phase in target.seconds}
    return Speed({"prefill": read, "decode": max(0, written - 1)}, seconds)
