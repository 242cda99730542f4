"""Speculative decoding with your own lab 10: ``make speculate``.

The real target and draft continue held-out code with k = 1 … 8 guesses a round. Calls are counted;
seconds are scripted, so that the table says the same on every machine: a call of the target costs
1, one of the draft ``--cost``. Beside it stands what the formula of Leviathan et al. expects.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from labs.assembly import Assembly
from labs.common import load_tokenizer
from labs.pieces import LABS, work_on
from labs.reader import Reader, load

NEEDED = frozenset({"greedy", "sample", "generate", "speedup"})
CHECKPOINTS = ("target", "draft")
PROMPT = 24  # tokens of held-out text in front of each continuation


@dataclass(frozen=True, slots=True)
class Row:
    """What k guesses a round gave, in all texts together, and what the formula expects."""

    k: int
    tokens: int
    target_calls: int
    draft_calls: int
    expected_calls: float  # of the target, per token
    expected_speedup: float

    @property
    def calls(self) -> float:
        """Calls of the target per token."""
        return self.target_calls / self.tokens

    def speedup(self, cost: float) -> float:
        """Scripted time of the target alone, one call a token, over that of these calls."""
        return self.tokens / (self.target_calls + cost * self.draft_calls)


@dataclass(frozen=True, slots=True)
class Pair:
    """Target and draft, and how their tokens are chosen."""

    target: Assembly
    draft: Assembly
    temperature: float

    def acceptance(self, prompt: list[int], text: list[int]) -> list[float]:
        """Return for each token of the text the chance that a guess in its place is accepted."""
        whole = prompt + text[:-1]
        p, q = (
            Reader(model, len(whole)).forward(whole)[len(prompt) - 1 :]
            for model in (self.target, self.draft)
        )
        if self.temperature == 0:
            return (p.argmax(-1) == q.argmax(-1)).double().tolist()
        p, q = ((x.double() / self.temperature).softmax(-1) for x in (p, q))
        return torch.minimum(p, q).sum(-1).tolist()

    def run(
        self, lab: ModuleType, prompt: list[int], k: int, new: int, seed: int
    ) -> tuple[list[int], int, int]:
        """Return the new tokens and the calls of target and draft."""
        room = len(prompt) + new + k + 1
        readers = Reader(self.target, room), Reader(self.draft, room)
        generator = torch.Generator().manual_seed(seed)
        tokens, _ = lab.speculative_generate(
            *readers, prompt, k, new, (), self.temperature, generator
        )
        return tokens, readers[0].calls, readers[1].calls


def table(
    lab: ModuleType, pair: Pair, prompts: Sequence[list[int]], new: int, cost: float, most: int
) -> tuple[float, list[Row]]:
    """Return the acceptance, over texts that the target writes alone, and a row for each k."""
    alone = [pair.run(lab, prompt, 0, new, seed)[0] for seed, prompt in enumerate(prompts)]
    chances = [x for pair_ in zip(prompts, alone, strict=True) for x in pair.acceptance(*pair_)]
    mean = sum(chances) / len(chances)
    rows: list[Row] = []
    for k in range(1, most + 1):
        runs = [pair.run(lab, prompt, k, new, seed) for seed, prompt in enumerate(prompts)]
        tokens = sum(len(text) for text, _, _ in runs)
        targets, drafts = (sum(calls) for calls in zip(*(r[1:] for r in runs), strict=True))
        free, paid = (lab.expected_speedup(mean, k, each) for each in (0.0, cost))
        rows.append(Row(k, tokens, targets, drafts, 1 / free, paid))
    return mean, rows


def show(rows: Sequence[Row], cost: float) -> str:
    """Write the table; the bars are measured calls per token, the mark is the formula's."""
    lines = ["   k   target calls a token   formula   speed-up   formula"]
    for row in rows:
        bar = ["█" if i < row.calls * 40 else " " for i in range(41)]
        bar[round(row.expected_calls * 40)] = "│"
        numbers = f"{row.calls:22.3f}{row.expected_calls:10.3f}{row.speedup(cost):11.2f}"
        lines.append(f"{row.k:4}{numbers}{row.expected_speedup:10.2f}   {''.join(bar).rstrip()}")
    return "\n".join(lines)


def picture(rows: Sequence[Row]) -> str:
    """Draw calls per token against k as SVG: measured as dots, the formula as a line."""

    def place(k: int, calls: float) -> tuple[float, float]:
        return 60 + 50 * k, 260 - 220 * calls

    line = " ".join("{:.1f},{:.1f}".format(*place(row.k, row.expected_calls)) for row in rows)
    dots = "".join(
        '<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#c2410c"/>'.format(*place(row.k, row.calls))
        for row in rows
    )
    labels = "".join(
        f'<text x="{60 + 50 * row.k}" y="280" text-anchor="middle">{row.k}</text>' for row in rows
    )
    scale = "".join(
        f'<text x="60" y="{264 - 220 * i / 4:.0f}" text-anchor="end">{i / 4}</text>'
        f'<path d="M70 {260 - 55 * i}H{90 + 50 * len(rows)}" stroke="#ddd"/>'
        for i in range(5)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{120 + 50 * len(rows)}" height="310" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        '<text x="20" y="20">calls of the target per token: measured (dots), formula (line)</text>'
        f'{scale}<polyline points="{line}" fill="none" stroke="#1d4ed8" stroke-width="2"/>'
        f'{dots}{labels}<text x="70" y="302">k, guesses a round</text></svg>\n'
    )


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="speculate", description=__doc__)
    parser.add_argument("--temperature", type=float, default=0.0, help="0 takes the best token")
    parser.add_argument("--cost", type=float, default=0.15, help="of a draft call, in target calls")
    parser.add_argument("--texts", type=int, default=6, metavar="N")
    parser.add_argument("--max-new-tokens", type=int, default=48, metavar="N")
    parser.add_argument("--most", type=int, default=8, metavar="K", help="the largest k")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the table as well")
    options = parser.parse_args(arguments)
    if options.temperature < 0 or options.cost < 0:
        parser.error("--temperature and --cost must be 0 or more")
    if min(options.texts, options.max_new_tokens, options.most) < 1:
        parser.error("--texts, --max-new-tokens and --most must be 1 or more")
    return options


def held_out(tokenizer: Any, count: int) -> list[list[int]]:
    """Return beginnings, evenly spread over the text that no checkpoint has seen."""
    text = (LABS / "checkpoints" / "heldout.txt").read_text(encoding="utf-8")
    step = len(text) // count
    # Ten characters a token are plenty.
    pieces = (text[i * step : i * step + 10 * PROMPT] for i in range(count))
    return [tokenizer.encode(piece)[:PROMPT] for piece in pieces]


def measure(lab: ModuleType, options: argparse.Namespace) -> tuple[float, list[Row]]:
    """Return the table of the given checkpoints, with your caches if you have them."""
    works = {5: work_on(5)}
    target, draft = (LABS / "checkpoints" / name for name in CHECKPOINTS)
    pair = Pair(load(target, works), load(draft, works), options.temperature)
    prompts = held_out(load_tokenizer(target), options.texts)
    return table(lab, pair, prompts, options.max_new_tokens, options.cost, options.most)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; 2 without a lab 10 that works, or if the picture cannot be written."""
    options = parse(arguments)
    lab = work_on(10)
    if lab.module is None or not lab.passed >= NEEDED:
        left = ", ".join(sorted(NEEDED - lab.passed))
        print(f"error: this runs your lab 10, whose public tests fail: {left}", file=sys.stderr)
        print("hint: make grade LAB=10", file=sys.stderr)
        return 2
    mean, rows = measure(lab.module, options)
    print(
        f"{options.texts} texts of {options.max_new_tokens} tokens at temperature "
        f"{options.temperature:g}: a guess is accepted with probability {mean:.3f}.\n"
        f"A call of the target costs 1, one of the draft {options.cost:g}.\n"
    )
    print(show(rows, options.cost))
    print("\nbars: measured target calls a token; │: the formula's", file=sys.stderr)
    try:
        if options.svg:
            options.svg.write_text(picture(rows), encoding="utf-8")
    except OSError as error:
        print(f"error: the picture cannot be written: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
