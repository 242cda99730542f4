"""Pictures of lab 08: how a weight is cut, and which sums are left to make over the ranks."""

import itertools

import numpy as np
import torch

from labs.plots import COLORS, FONT, HATCHES, INK, Drawn, explains, figure, label
from labs.plots.checkpoint import config, model, run

CHECKPOINTS = ("target",)


@explains("shards", world=(2, 3))
def cut_by_columns_and_rows(world: int = 4) -> Drawn:
    """Column parallel cuts what comes out, row parallel what comes in: both leave a rank 1/W.

    Weights are stored [out, in], so that "columns" of the formula x·W are rows of the tensor.
    """
    shape = config("target")
    big, small = shape.intermediate_size, shape.hidden_size
    drawn, both = figure(2, height=3.9)
    cases = (("column parallel", big, small, True), ("row parallel", small, big, False))
    for axes, (name, outs, ins, upright) in zip(both, cases, strict=True):
        edges = torch.linspace(0, outs if upright else ins, world + 1).tolist()
        for rank, (start, end) in enumerate(itertools.pairwise(edges)):
            low, high = (0, ins) if upright else (start, end)
            top, bottom = (start, end) if upright else (0, outs)
            style = {"color": COLORS[rank % 6], "hatch": HATCHES[rank % 6], "edgecolor": INK}
            axes.bar(low, bottom - top, high - low, bottom=top, align="edge", alpha=0.8, **style)
            middle = ((low + high) / 2, (top + bottom) / 2)
            box = {"facecolor": "white", "edgecolor": INK, "pad": 2}
            axes.text(*middle, f"{rank}", ha="center", va="center", fontsize=FONT, bbox=box)
        axes.invert_yaxis()
        axes.set_xlim(0, big)
        axes.set_ylim(big, 0)
        axes.set_aspect("equal")
        label(axes, "in", "out", f"{name}\n[{outs}, {ins}]")
    return drawn, (
        f"Two weights of the target's MLP among {world} ranks. Column parallel: [{big}, {small}] "
        f"is cut along its outputs into {world} parts of about {big / world:.0f} rows, each reads "
        f"all {small} inputs. Row parallel: [{small}, {big}] is cut along its inputs into parts of "
        f"about {big / world:.0f} columns, each makes all {small} outputs."
    )


@explains("row", world=(2, 3), layer=(0, 5), outputs=(6, 16))
def what_the_all_reduce_adds(world: int = 4, layer: int = 3, outputs: int = 10) -> Drawn:
    """Each rank has a number for every output, and none of them is the answer: their sum is.

    That sum over the ranks is the all-reduce; a bias that every rank adds would be in it W times.
    """
    block = model("target").model.layers[layer]
    x = block.post_attention_layernorm(run("target").hidden[layer][20])
    inner = block.mlp.act_fn(block.mlp.gate_proj(x)) * block.mlp.up_proj(x)
    down = block.mlp.down_proj.weight[:outputs]
    terms = (down * inner).tensor_split(world, dim=1)
    shares = torch.stack([part.sum(1) for part in terms]).numpy()
    whole = (down @ inner).numpy()
    drawn, axes = figure(height=3.6)
    for rank, share in enumerate(shares):
        places = np.arange(outputs) + 0.8 * ((rank + 0.5) / world - 0.5)
        axes.bar(
            places,
            share,
            0.8 / world,
            color=COLORS[rank % 6],
            hatch=HATCHES[rank % 6],
            edgecolor=INK,
            linewidth=0.5,
            label=f"rank {rank}",
        )
    axes.plot(range(outputs), whole, "D", color=INK, markersize=7, label="sum: all-reduce")
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xticks(range(outputs))
    axes.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    label(axes, "output", "value", f"A row-parallel layer on {world} ranks, one token")
    far = int((abs(shares).sum(0) - abs(whole)).argmax())
    error = float(abs(shares.sum(0) - whole).max())
    return drawn, (
        f"{outputs} outputs of down_proj of layer {layer}, as {world} ranks have them before the "
        f"all-reduce. Output {far}: {', '.join(f'{item:.2f}' for item in shares[:, far])}; their "
        f"sum is {whole[far]:.2f}. Sums and the dense layer differ by less than "
        f"{max(1e-5, error):.0e}."
    )


@explains("mlp", world=(2, 8))
def where_the_all_reduce_is(world: int = 4) -> Drawn:
    """Up by columns, down by rows: between the two no rank needs anything of another.

    What travels is the narrow output, once; the wide hidden layer never leaves its rank.
    """
    shape = config("target")
    wide, narrow = shape.intermediate_size, shape.hidden_size
    drawn, axes = figure(height=3.3)
    stages = ("x", "gate and up\n(columns)", "down\n(rows)", "all-reduce", "y")
    widths = (narrow, wide / world, narrow, 0, narrow)
    for rank in range(world):
        style = {"color": COLORS[rank % 6], "hatch": HATCHES[rank % 6], "edgecolor": INK}
        for place, size in enumerate(widths):
            if place != 3:
                axes.bar(place, 0.7 * (size / narrow) ** 0.5, 0.5, bottom=rank, **style)
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
                axes.text(place, rank + 0.3, f"{size:.0f}", ha="center", va="center",
                          fontsize=FONT - 1, bbox=box)  # fmt: skip
        for start in (0.27, 1.27):
            arrow = {"arrowstyle": "->", "color": INK}
            axes.annotate("", (start + 0.46, rank + 0.3), (start, rank + 0.3), arrowprops=arrow)
    for rank in range(world):
        arrow = {"arrowstyle": "->", "color": INK}
        axes.annotate("", (3, world / 2 - 0.2), (2.27, rank + 0.3), arrowprops=arrow)
        axes.annotate("", (3.73, rank + 0.3), (3.05, world / 2 - 0.2), arrowprops=arrow)
    axes.text(3, world / 2 - 0.2, "+", ha="center", va="center", fontsize=16,
              bbox={"boxstyle": "circle", "facecolor": "white", "edgecolor": INK})  # fmt: skip
    axes.set_xticks(range(5), stages)
    axes.set_yticks([rank + 0.3 for rank in range(world)], [f"rank {n}" for n in range(world)])
    axes.set_ylim(world, -0.3)
    label(axes, "", "", "Values that a rank holds for one token")
    return drawn, (
        f"The target's MLP on {world} ranks, from left to right. Each rank has all {narrow} values "
        f"of x, makes {wide / world:.0f} of the {wide} hidden ones by columns and, by rows, "
        f"{narrow} unfinished outputs; one all-reduce of {narrow} values adds them up."
    )
