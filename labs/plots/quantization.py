"""Pictures of lab 09: what fewer bits cost on a real weight, and what one outlier does."""

import torch

from labs.plots import COLORS, FONT, INK, Drawn, explains, figure, label
from labs.plots.checkpoint import weights

CHECKPOINTS = ("target",)
SIZES = (8, 16, 32, 64, 128, 256)


def _weight(name: str, layer: int) -> torch.Tensor:
    return weights("target")[f"model.layers.{layer}.{name}.weight"]


def _rounded(rows: torch.Tensor, bits: int) -> torch.Tensor:
    """Each row on a ladder of 2**bits even steps between its ends, by torch's own rounding."""
    top = 2**bits - 1
    low, high = rows.amin(1).clamp(max=0), rows.amax(1).clamp(min=0)
    step = torch.where(high > low, (high - low) / top, 1.0)
    ends = (-low / step).round().int()
    return torch.fake_quantize_per_channel_affine(rows, step, ends, 0, 0, top)


@explains("int4", name=("mlp.up_proj", "self_attn.k_proj"), layer=(0, 7), bits=(3, 8))
def error_by_group(name: str = "mlp.gate_proj", layer: int = 3, bits: int = 4) -> Drawn:
    """A smaller group has a smaller range, so finer steps; but each group brings its own numbers.

    The right scale is what those cost: a scale of 32 bits and a zero of 8 for every group.
    """
    weight = _weight(name, layer)
    errors = [
        float((_rounded(weight.reshape(-1, size), bits) - weight.reshape(-1, size)).norm())
        / float(weight.norm())
        for size in SIZES
    ]
    costs = [bits + 40 / size for size in SIZES]
    drawn, left = figure()
    right = left.twinx()
    left.plot(SIZES, [100 * item for item in errors], color=COLORS[0], marker="o", label="error")
    right.plot(SIZES, costs, color=COLORS[3], marker="s", linestyle="--", label="bits")
    left.set_xscale("log", base=2)
    left.set_xticks(SIZES, [str(size) for size in SIZES])
    left.legend(handles=[*left.lines, *right.lines], loc="upper center")
    left.set_ylim(0)
    label(left, "weights that share a scale", "error, % of the weight", f"{name}, layer {layer}")
    label(right, "", "bits a weight")
    right.spines["right"].set_visible(True)
    said = "; ".join(f"{size}: {error:.1%} and {cost:.2f} bits"
                     for size, error, cost in zip(SIZES, errors, costs, strict=True))  # fmt: skip
    return drawn, (
        f"Relative error of {name} of layer {layer} with codes of {bits} bits, and bits a weight, "
        f"by the size of a group: {said}."
    )


@explains("int8", name=("mlp.up_proj", "self_attn.k_proj"), layer=(0, 7), factor=(3.0, 30.0))
def one_outlier(name: str = "mlp.gate_proj", layer: int = 3, factor: float = 10.0) -> Drawn:
    """One scale must reach the largest weight: make one larger, and all others share fewer codes.

    Above a real row, below the same with its largest weight enlarged: most land on a few codes.
    """
    weight = _weight(name, layer)
    row = weight[int((weight.abs().amax(1) / weight.std(1)).argmax())].clone()
    place = int(row.abs().argmax())
    drawn, both = figure(rows=2, height=4.0, sharex=True)
    said: list[str] = []
    for n, axes in enumerate(both):
        if n:
            row[place] *= factor
        codes = torch.round(row * (127 / torch.linalg.vector_norm(row, torch.inf)))
        edges = torch.arange(-128.5, 129.5, 4)
        color = COLORS[n]
        axes.hist(codes, edges.tolist(), color=color, edgecolor=INK, hatch=("", "///")[n])
        used = len(codes.unique())
        middle = float((codes.abs() <= 8).float().mean())
        title = "a real row" if n == 0 else f"its largest weight times {factor:g}"
        label(axes, "", "weights", f"{title}: {used} codes used")
        axes.annotate(
            "largest",
            (float(codes[place]), 1),
            xytext=(0, 26),
            textcoords="offset points",
            ha="center",
            fontsize=FONT - 1,
            arrowprops={"arrowstyle": "->"},
        )
        said.append(f"{title}: {used} of 255 codes are used, {middle:.0%} of the weights have a "
                    f"code between -8 and 8")  # fmt: skip
    both[1].set_xlabel("code of int8", fontsize=FONT)
    return drawn, (
        f"Codes of the {len(row)} weights of a row of {name}, layer {layer}, under one scale. "
        f"{'; '.join(said)}."
    )
