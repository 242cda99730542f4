"""Pictures of lab 10: where two models agree, how far guesses get, and what is left of p."""

import numpy as np
import torch

from labs.plots import (
    BLUE,
    COLORS,
    FONT,
    GREY,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    Drawn,
    explains,
    figure,
    label,
)
from labs.plots.checkpoint import FOLDER, run, word

CHECKPOINTS = ("target", "draft")
HELD_OUT = "heldout.txt"  # beside the checkpoints


def _rows(start: int, count: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of target and draft behind each token of a piece of held-out text, [T, V]."""
    text = (FOLDER / HELD_OUT).read_text(encoding="utf-8")
    text = text[start : start + 3 * count]
    return run("target", text).logits, run("draft", text).logits


@explains("greedy", start=(20_000, 90_000), most=(4, 12))
def tokens_a_round(start: int = 5_000, most: int = 8) -> Drawn:
    """More guesses bring more tokens, but ever fewer more: one wrong guess ends a round.

    Counted on held-out text, from every place of it: how many guesses in a row the target shares.
    """
    target, draft = _rows(start)
    same = (target.argmax(-1) == draft.argmax(-1)).tolist()
    counted = []
    for k in range(most + 1):
        runs = [next((n for n in range(k) if not same[at + n]), k)
                for at in range(len(same) - most)]  # fmt: skip
        counted.append(1 + sum(runs) / len(runs))
    drawn, axes = figure()
    ks = range(most + 1)
    axes.plot(ks, [k + 1 for k in ks], color=GREY, linestyle="--", label="if all were right")
    axes.plot(ks, counted, color=COLORS[0], marker="o", label="counted")
    for k in ks:
        axes.annotate(f"{counted[k]:.2f}", (k, counted[k]), xytext=(0, -15),
                      textcoords="offset points", ha="center", fontsize=9)  # fmt: skip
    axes.legend()
    axes.set_ylim(0, most + 1.5)
    axes.set_xticks(ks)
    label(axes, "guesses k", "tokens a round", f"{sum(same) / len(same):.0%} of guesses are right")
    said = ", ".join(f"{value:.2f}" for value in counted)
    return drawn, (
        f"Tokens that a call of the target brings, for 0 to {most} guesses: {said}. Counted on "
        f"{len(same)} held-out tokens, where the draft's best token is the target's in "
        f"{sum(same) / len(same):.0%} of the places."
    )


@explains("sample", place=(1, 20, 33), shown=(5, 12))
def accepted_and_left(place: int = 4, shown: int = 8) -> Drawn:
    """Where both bars are, guesses stay; where the draft says too much, some go; the rest comes
    from what the target has above the draft.

    The share of guesses that stay is what the two have in common.
    """
    p = run("target").logits[place].softmax(0)
    q = run("draft").logits[place].softmax(0)
    ids = (p + q).topk(shown).indices.numpy()
    p, q = p.numpy(), q.numpy()
    both = np.minimum(p, q)
    drawn, axes = figure(height=3.6)
    spots = range(shown)
    axes.bar(spots, both[ids], color=BLUE, edgecolor=INK, label="both: stays")
    axes.bar(spots, (p - both)[ids], bottom=both[ids], color=ORANGE, hatch="///", edgecolor=INK,
             label="target alone: fills up")  # fmt: skip
    axes.bar(spots, (q - both)[ids], bottom=both[ids], color="white", hatch="xx", edgecolor=INK,
             label="draft alone: goes")  # fmt: skip
    axes.set_xticks(spots, [word(int(item)) for item in ids], rotation=45)
    axes.legend()
    stays = float(both.sum())
    before = run("target").words[place]
    label(axes, "", "probability", f"Behind {before!r}: {stays:.0%} of guesses stay")
    best = ", ".join(f"{word(int(i))!r} {p[i]:.0%} and {q[i]:.0%}" for i in ids[:4])
    return drawn, (
        f"Probabilities of target and draft behind {before!r}: {best}. The {shown} tokens that are "
        f"shown have {p[ids].sum():.0%} and {q[ids].sum():.0%}. The two share {stays:.0%} of the "
        f"mass: that part of the guesses stays, and the other {1 - stays:.0%} is replaced from "
        f"what the target has above the draft."
    )


@explains("generate", start=(20_000, 90_000), hottest=(2.0, 6.0))
def acceptance_by_distance(start: int = 5_000, hottest: float = 4.0) -> Drawn:
    """The farther the draft is from the target, the fewer of its guesses stay.

    The same draft is made colder and hotter: it is best near the temperature of the target, 1.
    """
    target, draft = _rows(start)
    p = target.softmax(-1)
    heats = torch.linspace(0.25, hottest, 16).tolist()
    stays, apart = [], []
    for heat in heats:
        logs = (draft / heat).log_softmax(-1)
        q = logs.exp()
        stays.append(float(torch.minimum(p, q).sum(-1).mean()))
        apart.append(float((p * (target.log_softmax(-1) - logs)).sum(-1).mean()))
    drawn, (left, right) = figure(2, height=3.2, sharey=True)
    left.plot(heats, stays, color=COLORS[0], marker=MARKERS[0])
    right.plot(apart, stays, color=COLORS[3], marker=MARKERS[1], linestyle=LINES[1])
    for n, words in ((0, "coldest"), (-1, "hottest")):
        right.annotate(words, (apart[n], stays[n]), xytext=(0, 8), textcoords="offset points",
                       ha="right" if n == 0 else "center", fontsize=FONT - 1)  # fmt: skip
    left.axvline(1, color=INK, linestyle=":")
    left.set_ylim(0, 1)
    label(left, "temperature of the draft", "share of guesses that stay", "Target at 1")
    label(right, "KL(target, draft) in nats", "", "By their distance")
    best = max(range(len(heats)), key=stays.__getitem__)
    return drawn, (
        f"Share of guesses that stay on {len(p)} held-out tokens, target at temperature 1: "
        f"{stays[0]:.0%} with the draft at {heats[0]:g}, at most {stays[best]:.0%} at "
        f"{heats[best]:.2g}, {stays[-1]:.0%} at {heats[-1]:g}. Their Kullback-Leibler distance "
        f"there is {apart[0]:.2f}, {apart[best]:.2f} and {apart[-1]:.2f} nats."
    )
