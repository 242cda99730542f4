"""Pictures of lab 07: tiles in order, and what a row remembers from one tile to the next."""

import torch

from labs.plots import BLUE, COLORS, FONT, GREY, INK, LINES, MARKERS, SKY, Drawn, explains, figure
from labs.plots import label as name_axes
from labs.plots.checkpoint import run

CHECKPOINTS = ("target",)


@explains("tiled", layer=(1, 6), head=(0, 5), block=(4, 16))
def running_max_and_sum(layer: int = 4, head: int = 3, block: int = 8) -> Drawn:
    """A row remembers two numbers: the largest score so far, and the sum of exponentials below it.

    When a later tile has a larger score the sum so far shrinks, for it is measured against the
    largest: at the last tile both are those of the whole row.
    """
    shares = run("target").attention[layer][head][-1]
    scores = shares.double().log()  # up to a constant, which softmax does not see
    scores = scores - scores.mean()
    ends = torch.arange(block - 1, len(scores) + block - 1, block).clamp(max=len(scores) - 1)
    largest = scores.cummax(0).values[ends]
    sums = (scores.logcumsumexp(0)[ends] - largest).exp()
    drawn, (upper, lower) = figure(rows=2, height=4.4, sharex=True)
    upper.vlines(range(len(scores)), scores.min() - 0.5, scores, color=GREY)
    upper.plot(scores, "o", color=COLORS[0], markersize=4, label="score")
    places = [-0.5, *(ends + 0.5).tolist()]
    upper.step(
        places,
        [float(largest[0]), *largest.tolist()],
        where="pre",
        color=COLORS[3],
        linewidth=2,
        label="largest so far",
    )
    upper.legend(loc="lower right", ncols=2)
    lower.plot(ends, sums, color=COLORS[2], marker=MARKERS[2], linestyle=LINES[0])
    for place, value in zip(ends.tolist(), sums.tolist(), strict=True):
        lower.annotate(
            f"{value:.1f}",
            (place, value),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=FONT - 1,
        )
        for axes in (upper, lower):
            axes.axvline(place + 0.5, color=INK, linewidth=0.6, linestyle=":")
    lower.margins(y=0.3)
    name_axes(upper, "", "score", f"Last query, layer {layer}, head {head}, tiles of {block} keys")
    name_axes(lower, "key", "sum against\nthe largest")
    steps = "; ".join(f"{m:.1f} and {s:.2f}" for m, s in zip(largest, sums, strict=True))
    return drawn, (
        f"Scores of one query for {len(scores)} keys, in {len(ends)} tiles of {block}. Largest "
        f"score so far, and sum of exponentials measured against it, after each tile: {steps}."
    )


@explains("triton", queries=(40, 80), keys=(80, 128), block=(8, 32))
def tiles_in_order(queries: int = 64, keys: int = 96, block: int = 16) -> Drawn:
    """A program takes one row of tiles from left to right; numbers say when in its loop.

    Hatched tiles hold nothing that their queries may read: they are never loaded. Only tiles on the
    edge of the mask have to look at it.
    """
    mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    drawn, axes = figure(height=3.8)
    counts = {"full": 0, "on the edge": 0, "skipped": 0}
    for row, part in enumerate(mask.split(block, 0)):
        turn = 0
        for column, tile in enumerate(part.split(block, 1)):
            kind = "full" if tile.all() else "on the edge" if tile.any() else "skipped"
            counts[kind] += 1
            color = {"full": BLUE, "on the edge": SKY, "skipped": "white"}[kind]
            hatch = "///" if kind == "skipped" else ""
            high, wide = tile.shape
            left, top = column * block, -row * block
            axes.bar(
                left,
                -high,
                wide,
                bottom=top,
                align="edge",
                color=color,
                hatch=hatch,
                edgecolor=GREY if hatch else INK,
            )
            if kind != "skipped":
                turn += 1
                ink = "white" if kind == "full" else INK
                spot = (left + wide / 2, top - high / 2)
                axes.text(*spot, str(turn), ha="center", va="center", color=ink, fontsize=FONT)
    first, last = keys - queries + 0.5, keys + 0.5
    axes.plot([first, last], [0, -queries], color=COLORS[3], linewidth=2)
    axes.set_xticks(range(0, keys + 1, block))
    ticks = range(0, queries + 1, block)
    axes.set_yticks([-tick for tick in ticks], [str(tick) for tick in ticks])
    axes.set_xlim(0, keys + 1)
    axes.set_aspect("equal")
    title = f"{queries} queries, {keys} keys, causal, tiles of {block}; orange line: the mask"
    name_axes(axes, "key", "query", title)
    said = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return drawn, (
        f"{queries} queries by {keys} keys under a causal mask, in tiles of {block} by {block}: "
        f"{said}. Each row of tiles is taken from left to right up to the mask."
    )


@explains("merge", layer=(1, 6), head=(0, 5), cut=(10, 40))
def two_halves(layer: int = 4, head: int = 3, cut: int = 25) -> Drawn:
    """Two parts of the keys, each with a softmax of its own: neither knows what the other holds.

    Their sums of exponentials say how much each part weighs in the whole, and that is all it takes.
    """
    shares = run("target").attention[layer][head][-1].double().numpy()
    weight = [float(shares[:cut].sum()), float(shares[cut:].sum())]
    drawn, (left, right) = figure(2, height=3.4, width_ratios=(3, 1))
    parts = (shares[:cut] / weight[0], shares[cut:] / weight[1])
    for n, (part, start) in enumerate(zip(parts, (0, cut), strict=True)):
        left.bar(
            range(start, start + len(part)),
            part,
            color=COLORS[n],
            hatch=("", "////")[n],
            label=f"part {n + 1}, alone",
        )
    left.step(range(len(shares)), shares, where="mid", color=INK, label="in the whole")
    left.legend()
    right.bar(("1", "2"), weight, color=COLORS[:2], hatch=["", "////"], edgecolor=INK)
    right.bar_label(right.containers[0], [f"{item:.0%}" for item in weight], fontsize=FONT)
    right.set_ylim(0, 1.12)
    name_axes(left, "key", "softmax weight", f"Layer {layer}, head {head}, cut at key {cut}")
    name_axes(right, "part", "share of the whole")
    return drawn, (
        f"Attention weights of a query over {len(shares)} keys in two parts, cut at {cut}. Each "
        f"part alone adds up to 1; in the whole the first weighs {weight[0]:.1%} and the second "
        f"{weight[1]:.1%}. The largest weight is {shares.max():.2f} in the whole and "
        f"{parts[0].max():.2f} and {parts[1].max():.2f} in the parts alone."
    )
