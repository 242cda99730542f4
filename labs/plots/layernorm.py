"""Pictures of lab 06: what a norm moves, why the mean comes first, and whose sums add up."""

import torch

from labs.plots import COLORS, FONT, HATCHES, INK, LINES, MARKERS, Drawn, explains, figure, label
from labs.plots.checkpoint import run

CHECKPOINTS = ("target",)
# How often an element of x or a result of its size is read and written.
WAYS = {
    "one operator\nafter another": (7, 5),
    "a kernel, three\nreads of the row": (3, 1),
    "a kernel, the row\nread once": (1, 1),
}


@explains("speed", rows=(1024, 32768), width=(1000, 8192))
def memory_traffic(rows: int = 4096, width: int = 4096) -> Drawn:
    """The arithmetic is nothing beside the bytes: what counts is how often a row is fetched.

    Operators one after another write each step down and read it again. A kernel that keeps its row
    reads it once; one whose row is too long for that fetches it once for each pass.
    """
    unit = rows * width * 2 / 2**20
    drawn, axes = figure(height=3.4)
    reads = [way[0] * unit for way in WAYS.values()]
    writes = [way[1] * unit for way in WAYS.values()]
    axes.bar(range(3), reads, color=COLORS[0], label="read", edgecolor=INK)
    axes.bar(
        range(3), writes, bottom=reads, color=COLORS[1], hatch="///", label="written", edgecolor=INK
    )
    for place, (first, second) in enumerate(zip(reads, writes, strict=True)):
        total = f"{first + second:,.0f} MiB"
        axes.text(place, first + second, total, ha="center", va="bottom", fontsize=FONT)
    axes.set_xticks(range(3), list(WAYS))
    axes.set_ylim(0, 13.5 * unit)
    axes.legend()
    label(axes, "", "MiB moved", f"{rows:,} x {width:,} in bfloat16")
    said = "; ".join(
        f"{' '.join(name.split())}: {first:,.0f} MiB read and {second:,.0f} written"
        for name, first, second in zip(WAYS, reads, writes, strict=True)
    )
    return drawn, f"Memory traffic of a layer norm of {rows:,} rows of {width:,}. {said}."


@explains("forward", layer=(0, 5), width=(64, 128))
def one_pass_or_two(layer: int = 3, width: int = 256) -> Drawn:
    """Squares of large numbers are huge, and their difference is what rounding left of them.

    With the mean taken away first the error stays small however far the row is from zero; without,
    it grows with the square of the offset until nothing of the variance is right.
    """
    some = run("target").hidden[layer][10:40, :width].double()
    some = (some - some.mean(1, keepdim=True)) / some.std(1, keepdim=True, correction=0)
    offsets = [10.0**power for power in range(5)]
    errors: list[list[float]] = [[], []]
    for offset in offsets:
        moved = (some + offset).float()
        truth = moved.double().var(1, correction=0)
        squares = torch.linalg.vector_norm(moved, dim=1) ** 2 / width
        ways = (squares - moved.mean(1) ** 2, moved.var(1, correction=0))
        for values, found in zip(errors, ways, strict=True):
            values.append(float(((found - truth).abs() / truth).mean()))
    drawn, axes = figure()
    for n, name in enumerate(("mean of squares - square of the mean", "mean first, then squares")):
        axes.loglog(
            offsets, errors[n], color=COLORS[n], marker=MARKERS[n], linestyle=LINES[n], label=name
        )
    axes.legend()
    label(axes, "mean / standard deviation", "relative error", "Variance in float32, real rows")
    said = "; ".join(f"{a:.0e} and {b:.0e} at {o:g}"
                     for o, a, b in zip(offsets, *errors, strict=True))  # fmt: skip
    return drawn, (
        f"Mean relative error of the variance of {width} values in float32, by mean / standard "
        f"deviation, as difference of squares and with the mean taken away first: {said}."
    )


@explains("backward", programs=(2, 8), columns=(8, 24))
def partial_sums(programs: int = 4, columns: int = 16) -> Drawn:
    """Each program owns some rows and adds up its own share of dweight; nobody writes on another's.

    The column totals below are the gradient: they come by one more sum over the programs.
    (In the place of dy stand the hidden states of the token before.)
    """
    read = run("target")
    rows = read.hidden[3].double()
    normed = torch.nn.functional.layer_norm(rows, rows.shape[-1:])
    upstream = rows.roll(1, 0)
    products = (normed * upstream)[:, :columns]
    shares = torch.stack([part.sum(0) for part in products.tensor_split(programs)]).numpy()
    drawn, (upper, lower) = figure(rows=2, height=4.2, sharex=True)
    limit = float(abs(shares).max())
    image = upper.imshow(shares, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    upper.set_yticks(range(programs))
    drawn.colorbar(image, ax=[upper, lower]).ax.tick_params(labelsize=FONT - 1)
    label(upper, "", "program", f"Shares of {programs} programs, {len(rows)} rows in all")
    for n, share in enumerate(shares):
        before = shares[:n]  # what lies on the same side of zero
        bottom = (before * (before * share > 0)).sum(0)
        lower.bar(
            range(columns),
            share,
            bottom=bottom,
            color=COLORS[n % 6],
            hatch=HATCHES[n % 6],
            edgecolor=INK,
            linewidth=0.5,
        )
    total = shares.sum(0)
    lower.plot(range(columns), total, "D", color=INK, label="dweight: the sum")
    lower.legend()
    label(lower, "column", "stacked shares")
    far = int(abs(total).argmax())
    return drawn, (
        f"{len(rows)} rows among {programs} programs: each adds up dy times the normed x of its "
        f"rows, for {columns} columns. In column {far} the shares are "
        f"{', '.join(f'{item:.1f}' for item in shares[:, far])}, and dweight, their sum, is "
        f"{total[far]:.1f}."
    )
