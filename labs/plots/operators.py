"""Pictures of lab 15: what bfloat16 keeps of a sum, and what a fused operator need not move."""

import math

import torch

from labs.plots import COLORS, FONT, GREY, HATCHES, INK, LINES, Drawn, explains, figure, label

CHECKPOINTS = ()


@explains("norm", residual=(64.0, 1000.0))
def what_residual_keeps(residual: float = 256.0) -> Drawn:
    """A sum in bfloat16 stands still, then jumps: the next layer sees the steps, not the line."""
    here = torch.tensor(residual).bfloat16()
    step = 2.0 ** (math.floor(math.log2(here)) - 7)  # of eight bits the first is always 1
    x = torch.linspace(0, 4 * step, 401)
    exact = here.float() + x
    kept = exact.bfloat16().float()
    drawn, axes = figure()
    axes.plot(x, exact, color=COLORS[0], linestyle=LINES[1], label="the sum in float32")
    axes.plot(x, kept, color=COLORS[1], label="what residual holds")
    axes.legend(frameon=False, fontsize=FONT)
    label(axes, "x", "residual + x", f"residual is {float(here):g}, in bfloat16")
    most = float((kept - exact).abs().max())
    return drawn, (
        f"residual + x for a residual of {float(here):g}: in float32 a straight line, in bfloat16 "
        f"steps of {step:g}, up to {most:g} away from it, {most / float(here):.2%} of residual."
    )


@explains("speed", rows=(1024, 32_768), features=(4096, 28_672))
def what_is_moved(rows: int = 8192, features: int = 14_336) -> Drawn:
    """Two operators write a tensor between them and read it again; a fused one does neither."""
    one = 2 * rows * features / 1e6  # MB of a tensor in bfloat16
    ways = {"silu, then times up": (3 * one, 2 * one), "silu_mul": (2 * one, one)}
    drawn, axes = figure(height=2.2)
    for place, (reads, writes) in enumerate(ways.values()):
        style = {"edgecolor": INK, "linewidth": 0.8}
        axes.barh(place, reads, color=COLORS[0], label="read" if not place else None, **style)
        axes.barh(
            place,
            writes,
            left=reads,
            color=COLORS[1],
            hatch=HATCHES[1],
            label="written" if not place else None,
            **style,
        )
    axes.set_yticks(range(len(ways)), [*ways], fontsize=FONT)
    axes.invert_yaxis()
    axes.grid(axis="x", color=GREY, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, fontsize=FONT)
    label(axes, "MB", "", f"{rows} x {features} in bfloat16")
    total = {name: sum(parts) for name, parts in ways.items()}
    said = "; ".join(f"{name} {moved:.0f} MB" for name, moved in total.items())
    first, second = total.values()
    return drawn, (
        f"Bytes that are moved for {rows} x {features} numbers in bfloat16: {said}, "
        f"{first / second:.2f} times less."
    )
