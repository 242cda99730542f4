"""Pictures of lab 11: what a changing batch does to a cache that stays, and what padding costs."""

import torch

from labs.plots import BLUE, GREY, HATCHES, INK, ORANGE, Drawn, explains, figure, label

COLORS_OF_SIZES = (ORANGE, BLUE, INK)
STYLES = ("-", "--", ":")


def _texts(slots: int, steps: int) -> list[tuple[int, int]]:
    """Return for each slot how long its sequence is now, and how long the one before it was."""
    noise = torch.Generator().manual_seed(slots + 31 * steps)
    now = torch.randint(1, steps, (slots,), generator=noise).tolist()
    before = torch.randint(1, steps + 1, (slots,), generator=noise).tolist()
    return [*zip(now, before, strict=True)]


@explains("cache", slots=(3, 8), max_len=(8, 20))
def slots_of_a_batch(slots: int = 6, max_len: int = 14) -> Drawn:
    """Each row of a batch writes one place of its own slot; nothing else of the memory changes.

    What lies behind it is of an earlier sequence, finite and wrong. Padding writes to scratch.
    """
    texts = _texts(slots, max_len)
    rows = list(range(slots))[::2]
    drawn, axes = figure(height=1.5 + 0.32 * slots)
    for slot, (now, before) in enumerate(texts):
        for place in range(max_len):
            writes = slot in rows and place == now - 1
            filled = place < now
            color = ORANGE if writes else BLUE if filled else GREY if place < before else "white"
            hatch = HATCHES[1] if not filled and place < before else ""
            axes.bar(
                *(place, -0.9, 0.94),
                bottom=-slot,
                color=color,
                hatch=hatch,
                edgecolor=INK,
                linewidth=0.5,
            )
            if writes:
                axes.text(place, -slot - 0.45, "new", ha="center", va="center", fontsize=8)
    for place in range(max_len):
        axes.bar(place, -0.9, 0.94, bottom=-slots, color="white", edgecolor=INK, linewidth=0.5)
    names = [f"slot {slot}" for slot in range(slots)] + ["scratch"]
    axes.set_yticks([-n - 0.45 for n in range(slots + 1)], names)
    axes.set_xticks(range(max_len))
    label(axes, "position", "", f"A step of {len(rows)} rows: text blue, leftovers grey")
    places = ", ".join(f"slot {slot} at position {texts[slot][0] - 1}" for slot in rows)
    stale = sum(max(before - now, 0) for now, before in texts)
    return drawn, (
        f"The memory of one layer: {slots} slots and scratch by {max_len} positions. A step of "
        f"{len(rows)} rows writes one place each: {places}. {stale} places behind the texts hold "
        f"what earlier sequences have left; no row may see them."
    )


@explains("buckets", largest=(16, 64), mean=(6, 20))
def padding_by_sizes(largest: int = 32, mean: int = 10) -> Drawn:
    """The fewer sizes there are, the more rows are padding: few graphs against little waste.

    Where most steps are decides which sizes are worth a graph.
    """
    rows = torch.arange(1, largest + 1)
    weight = torch.exp(-(((rows - mean) / (0.45 * mean)) ** 2)) + 0.05  # batches of a day
    steps = (1000 * weight / weight.sum()).round()
    powers = [2**n for n in range(largest.bit_length()) if 2**n < largest]
    plans = {"one size": [largest], "powers of two": [*powers, largest]}
    plans["every fourth"] = [*range(4, largest, 4), largest]
    drawn, (above, below) = figure(rows=2, height=4.2, sharex=True)
    above.bar(rows.numpy(), steps.numpy(), color=GREY, edgecolor=INK, linewidth=0.4)
    label(above, "", "steps", f"{int(steps.sum())} steps by their rows")
    said: list[str] = []
    for n, (name, sizes) in enumerate(plans.items()):
        size = torch.tensor(sizes)[torch.bucketize(rows, torch.tensor(sizes))]
        padded = (size - rows) * steps
        share = padded.sum() / (size * steps).sum()
        what = f"{name} (graphs: {len(sizes)}) {share:.0%}"
        below.step(rows, size - rows, where="mid", color=COLORS_OF_SIZES[n], ls=STYLES[n])
        below.lines[-1].set_label(what)
        said.append(what)
    below.legend(title="padding, of all rows")
    label(below, "rows of a step", "rows of padding")
    return drawn, (
        f"Steps of 1 to {largest} rows, most of about {mean}. Of all rows that graphs compute, "
        f"padding is: {'; '.join(said)}."
    )
