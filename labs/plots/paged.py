"""Pictures of lab 12: what memory holds, and who is in the batch."""

import torch

from labs.plots import BLUE, COLORS, FONT, GREY, HATCHES, INK, Drawn, explains, figure, label

CHECKPOINTS = ()


def _lengths(requests: int, longest: int) -> torch.Tensor:
    """Draw how long texts become: most are short, a few use all that they may."""
    drawn = torch.rand(requests, generator=torch.Generator().manual_seed(12))
    return (longest * drawn.pow(2.5)).ceil().clamp(min=1).long()


@explains("blocks", longest=(512, 8192), requests=(20, 500))
def lost_memory(longest: int = 2048, requests: int = 200) -> Drawn:
    """Room for the longest text is mostly empty; of blocks only the last of each text is not full.

    The smaller the block the less is lost, and the longer the table.
    """
    tokens = _lengths(requests, longest)
    sizes = (16, 64, 256, longest)
    held = [float(tokens.sum() / (size * (tokens / size).ceil()).sum()) for size in sizes]
    names = [*(f"blocks of {size}" for size in sizes[:-1]), f"one piece of {longest}"]
    drawn, axes = figure(height=2.6)
    for n, share in enumerate(held):
        axes.barh(-n, share * 100, 0.7, color=COLORS[0], edgecolor=INK, linewidth=0.6)
        rest = {"left": share * 100, "color": "white", "edgecolor": GREY, "hatch": HATCHES[1]}
        axes.barh(-n, 100 - share * 100, 0.7, linewidth=0.6, **rest)
        axes.text(101, -n, f"{share:.0%}", va="center", fontsize=FONT)
    axes.set_yticks([-n for n in range(len(names))], names)
    axes.set_xlim(0, 112)
    label(
        axes, "% of the memory that holds tokens", "", f"{requests} texts of 1 to {longest} tokens"
    )
    said = "; ".join(f"{name} {share:.0%}" for name, share in zip(names, held, strict=True))
    return drawn, (
        f"Share of the memory in use that holds tokens, for {requests} texts of at most {longest} "
        f"tokens, {float(tokens.float().mean()):.0f} on average: {said}."
    )


@explains("scheduler", rows=(2, 6), requests=(8, 14))
def batches(rows: int = 4, requests: int = 10) -> Drawn:
    """Static batching waits for its longest row; where who has ended leaves, the next one comes in.

    White is a row of the batch that computes nothing.
    """
    steps = [int(n) for n in _lengths(requests, 12) + 1]
    plans = {"static": _static(steps, rows), "continuous": _continuous(steps, rows)}
    drawn, axes = figure(rows=2, height=1.6 + 0.42 * rows, sharex=True)
    ends: list[int] = []
    for panel, (name, bars) in zip(axes, plans.items(), strict=True):
        for request, (row, start, stop) in enumerate(bars):
            color = COLORS[request % len(COLORS)]
            style = {"color": color, "edgecolor": INK, "linewidth": 0.6}
            panel.barh(-row, stop - start, 0.8, left=start, **style)
            panel.text((start + stop) / 2, -row, str(request), ha="center", va="center", color=INK)
        ends.append(max(stop for _, _, stop in bars))
        panel.axvline(ends[-1], color=BLUE, linestyle=":")
        panel.set_yticks([-row for row in range(rows)], [str(row) for row in range(rows)])
        label(panel, "", "row", f"{name}: {ends[-1]} steps")
    axes[1].set_xlabel("step", fontsize=FONT)
    busy = [sum(steps) / (rows * end) for end in ends]
    return drawn, (
        f"{requests} requests of {min(steps)} to {max(steps)} steps in a batch of {rows} rows. "
        f"Static batching takes {ends[0]} steps, and {busy[0]:.0%} of its rows compute; where rows "
        f"that have ended make room at once it takes {ends[1]} steps at {busy[1]:.0%}."
    )


def _static(steps: list[int], rows: int) -> list[tuple[int, int, int]]:
    """Give each request its row, its first step and the one behind its last."""
    bars: list[tuple[int, int, int]] = []
    begin = 0
    for first in range(0, len(steps), rows):
        group = steps[first : first + rows]
        bars += [(row, begin, begin + count) for row, count in enumerate(group)]
        begin += max(group)
    return bars


def _continuous(steps: list[int], rows: int) -> list[tuple[int, int, int]]:
    free = [0] * rows  # from which step on each row is
    bars: list[tuple[int, int, int]] = []
    for count in steps:
        row = min(range(rows), key=free.__getitem__)
        bars.append((row, free[row], free[row] + count))
        free[row] += count
    return bars
