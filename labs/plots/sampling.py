"""Pictures of lab 03: which tokens the filters keep, and what temperature does to their chances."""

import numpy as np

from labs.plots import (
    COLORS,
    FONT,
    GREY,
    HATCHES,
    INK,
    LINES,
    MARKERS,
    SKY,
    Drawn,
    explains,
    figure,
    label,
)
from labs.plots.checkpoint import run, word

CHECKPOINTS = ("target",)


def _ranked(place: int) -> tuple[np.ndarray, list[str]]:
    """The target's probabilities behind a place of the text, best first, and their tokens."""
    chances, ids = run("target").logits[place].softmax(0).sort(descending=True)
    return chances.numpy(), [word(int(item)) for item in ids[:24]]


@explains("filters", place=(1, 15, 33), k=(2, 10), p=(0.5, 0.95), share=(0.02, 0.3))
def kept_mass(place: int = 9, k: int = 5, p: float = 0.8, share: float = 0.1) -> Drawn:
    """Each filter cuts the same ranking elsewhere, and only two of them look at its shape.

    Where the model is sure, top-p and min-p keep one or two tokens; where it is not, many.
    """
    chances, words = _ranked(place)
    summed = np.cumsum(chances, dtype=np.float64)
    counts = {
        f"top-k, k = {k}": k,
        f"top-p, p = {p:g}": int(np.searchsorted(summed, p)) + 1,
        f"min-p, {share:g}": int(np.count_nonzero(chances > share * chances[0])),
    }
    shown = len(words)
    drawn, axes = figure(height=3.9)
    axes.bar(range(shown), chances[:shown], color=SKY, edgecolor=INK)
    top = float(chances[0])
    for n, (name, count) in enumerate(counts.items()):
        height = top * (1.12 + 0.14 * n)
        end = min(count, shown) - 0.5
        line = {"color": COLORS[(0, 3, 2)[n]], "linestyle": LINES[n]}
        axes.plot([-0.5, end], [height, height], marker="|", markersize=9, linewidth=2, **line)
        says = f"{name}: {count} tokens, {summed[count - 1]:.0%}"
        left = end + 0.4 if end < shown * 0.5 else 0
        axes.text(left, height + (0 if left else top * 0.02), says, fontsize=FONT, color=INK,
                  va="center" if left else "bottom")  # fmt: skip
    axes.set_ylim(0, top * 1.5)
    axes.set_xticks(range(shown), words, rotation=70)
    before = "".join(run("target").words[max(0, place - 2) : place + 1])
    label(axes, "tokens, most likely first", "probability", f"The target behind {before!r}")
    said = "; ".join(
        f"{name} keeps {count} of {len(chances)} tokens with {summed[count - 1]:.1%} of the mass"
        for name, count in counts.items()
    )
    return drawn, (
        f"Probabilities of the next token behind {before!r}, sorted: {words[0]!r} has "
        f"{chances[0]:.0%}, {words[1]!r} {chances[1]:.0%}, {words[2]!r} {chances[2]:.0%}. {said}."
    )


@explains("sampler", place=(1, 15, 33), cold=(0.3, 0.7), hot=(1.5, 3.0))
def temperatures(place: int = 9, cold: float = 0.5, hot: float = 2.0) -> Drawn:
    """Cold makes the best token nearly certain, hot lifts the many that were hardly possible.

    The order of the tokens is the same at each temperature.
    """
    ranked, words = _ranked(place)
    shown = 10
    drawn, axes = figure(height=3.5)
    said: list[str] = []
    for n, heat in enumerate((cold, 1.0, hot)):
        chances = np.power(ranked.astype(np.float64), 1 / heat)
        chances /= chances.sum()
        heights = [*chances[:shown], chances[shown:].sum()]
        axes.bar(
            np.arange(shown + 1) + 0.28 * (n - 1),
            heights,
            0.28,
            color=COLORS[n],
            hatch=HATCHES[n],
            edgecolor="white",
            label=f"temperature {heat:g}",
        )
        said.append(f"at {heat:g} the best has {chances[0]:.0%}, all behind rank {shown} together "
                    f"{heights[-1]:.0%}")  # fmt: skip
    axes.set_xticks(range(shown + 1), [*words[:shown], "all others"], rotation=60)
    axes.legend()
    label(axes, "", "probability", f"Behind {run('target').words[place]!r}, best {words[0]!r}")
    return drawn, f"Probabilities behind {run('target').words[place]!r}: {'; '.join(said)}."


@explains("beam", place=(1, 15, 33), steps=(10, 30))
def greedy_is_not_best(place: int = 9, steps: int = 18) -> Drawn:
    """Chances multiply: a text of many likely tokens is unlikely, and its logarithm falls.

    One doubtful token costs more than many sure ones, so that a second choice there may end up
    ahead: that is what beams keep open.
    """
    read = run("target")
    places = range(place, min(place + steps, len(read.words) - 1))
    logs = read.logits.log_softmax(-1)
    best = np.cumsum([float(logs[n].max()) for n in places])
    second = np.cumsum([float(logs[n].topk(2).values[1]) for n in places])
    drawn, axes = figure()
    for n, (values, name) in enumerate(((best, "best token each time"), (second, "second best"))):
        axes.plot(
            range(1, len(values) + 1),
            values,
            color=COLORS[n],
            marker=MARKERS[n],
            linestyle=LINES[n],
            label=name,
        )
    axes.legend()
    axes.axhline(0, color=GREY, zorder=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    label(axes, "tokens so far", "sum of log-probabilities", "Along a real text")
    worst = int(np.argmin(np.diff(best, prepend=0)))
    return drawn, (
        f"Sum of log-probabilities over {len(best)} places of a text: of the best token each time "
        f"it falls to {best[-1]:.1f}, of the second best to {second[-1]:.1f}. The most doubtful "
        f"place, behind {read.words[places[worst]]!r}, costs the best token "
        f"{-np.diff(best, prepend=0)[worst]:.2f}, the median one "
        f"{-np.median(np.diff(best, prepend=0)):.2f}."
    )
