"""Pictures of lab 13: where steps lie under the roof, what runs at once, and what a clock sees."""

import torch
from torch.utils.flop_counter import FlopCounterMode

from labs.common import LlamaConfig, load_weights
from labs.llama import Llama
from labs.plots import (
    BLUE,
    COLORS,
    GREEN,
    GREY,
    INK,
    MARKERS,
    ORANGE,
    Drawn,
    explains,
    figure,
    label,
)
from labs.plots.checkpoint import FOLDER

CHECKPOINTS = ("target",)
PEAK, BANDWIDTH = 989e12, 4.8e12  # an H200 in 16 bits: FLOP/s and bytes/s, of its data sheet


class _Kept:
    """A cache that holds as many keys as it is told, and counts their bytes."""

    def __init__(self, context: int) -> None:
        self.context, self.nbytes = context, 0

    def update(self, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        k, v = (part[:, :, :1].expand(-1, -1, self.context, -1) for part in (k, v))
        self.nbytes = 2 * (k.numel() + v.numel())
        return k, v


def _counted(model: Llama, batch: int, new: int, context: int) -> tuple[int, int]:
    """Return the operations that torch counts, and the bytes of weights and cache in 16 bits."""
    caches = [_Kept(context) for _ in range(model.num_layers)]
    tokens = torch.zeros(batch, new, dtype=torch.int64)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        model(tokens, torch.arange(context - new, context).expand(batch, -1), caches=caches)
    weights = 2 * sum(parameter.numel() for parameter in model.parameters())
    return counter.get_total_flops(), weights + sum(cache.nbytes for cache in caches)


@explains("roofline", context=(32, 1024), most=(64, 128))
def steps_under_the_roof(context: int = 128, most: int = 256) -> Drawn:
    """A step of decoding lies on the slope, and climbs with the batch until caches hold it back.

    Operations are torch's count of our target, bytes those of its weights and caches.
    """
    model = Llama(LlamaConfig.from_pretrained(FOLDER / "target"), load_weights(FOLDER / "target"))
    batches = [2**power for power in range(most.bit_length())]
    cases = [("decode", [_counted(model, batch, 1, context) for batch in batches])]
    cases.append(("prefill", [_counted(model, 1, context, context)]))
    ridge = PEAK / BANDWIDTH
    drawn, axes = figure(height=3.4)
    axes.plot(
        [0.5, ridge, 4 * ridge], [0.5 * BANDWIDTH / 1e12, PEAK / 1e12, PEAK / 1e12], color=INK
    )
    placed: dict[str, list[float]] = {}
    for (name, counts), color, marker in zip(cases, COLORS, MARKERS, strict=False):
        placed[name] = [flops / nbytes for flops, nbytes in counts]
        roof = [min(PEAK, each * BANDWIDTH) / 1e12 for each in placed[name]]
        axes.plot(placed[name], roof, color=color, marker=marker, linestyle="", label=name)
    for at in (0, len(batches) - 1):
        place = placed["decode"][at]
        axes.annotate(f"B = {batches[at]}", (place, place * BANDWIDTH / 1e12), xytext=(8, -12),
                      textcoords="offset points")  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.legend()
    label(axes, "FLOPs per byte", "attainable TFLOP/s", f"Ridge at {ridge:.0f} FLOPs per byte")
    return drawn, (
        f"Roofline of a device with {PEAK / 1e12:.0f} TFLOP/s and {BANDWIDTH / 1e12:.1f} TB/s: its "
        f"ridge is at {ridge:.0f} FLOPs per byte. Decoding with our target, {context} tokens of "
        f"context, has {placed['decode'][0]:.1f} FLOPs per byte for one sequence and "
        f"{placed['decode'][-1]:.0f} for {batches[-1]}; a prompt of {context} tokens has "
        f"{placed['prefill'][0]:.0f}."
    )


@explains("trace", overlap=(0, 6), late=(8, 14))
def launch_and_kernel(overlap: int = 4, late: int = 10) -> Drawn:
    """A kernel runs long after its launch, perhaps below another annotation; streams overlap, and
    the device is busy for less time than its kernels take together.
    """
    drawn, axes = figure(height=2.9)
    second = late + 8 - overlap
    rows = (
        ("stream 8", [(second, 7, "kernel 2", ORANGE)]),
        ("stream 7", [(late, 8, "kernel 1", BLUE), (second + 9, 4, "3", BLUE)]),
        ("launches", [(1, 1, "1", GREY), (4, 1, "2", GREY), (late + 1, 1, "3", GREY)]),
        ("annotations", [(0, 7, "prefill", GREEN), (8, late + 8, "decode", "white")]),
    )
    for row, (_, bars) in enumerate(rows):
        for start, length, name, color in bars:
            axes.barh(row, length, left=start, color=color, edgecolor=INK, height=0.6)
            axes.text(start + length / 2, row, name, ha="center", va="center", color=INK)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    work = [range(start, start + size) for _, bars in rows[:2] for start, size, *_ in bars]
    busy, total = len({step for steps in work for step in steps}), sum(map(len, work))
    label(axes, "microseconds", "", f"{busy} us busy, {total} us of kernels")
    return drawn, (
        f"Kernels 1 and 2 are launched within prefill and run from {late} and {second} us on, "
        f"while decode is open; their streams overlap for {overlap} us. Kernels take {total} us "
        f"together, and the device is busy for {busy}."
    )


@explains("measure", work=(4, 9), queued=(2, 8))
def what_a_clock_sees(work: int = 6, queued: int = 4) -> Drawn:
    """A call returns when its work is queued: without waiting a clock sees the launch alone, and
    without waiting beforehand it sees the work of others too.
    """
    drawn, axes = figure(height=2.6)
    launch = 1
    seen = (
        ("no waiting", 0, launch),
        ("waiting at the end", 0, queued + work),
        ("at both ends", queued, queued + launch + work),
    )
    for row, (name, start, stop) in enumerate(seen):
        axes.annotate("", (start, row), (stop, row), arrowprops={"arrowstyle": "<->", "color": INK})
        axes.text(stop + 0.2, row, f"{name}: {stop - start} s", va="center", in_layout=False)
    busy = ((0, queued, "earlier work", GREY), (queued, launch + work, "launch and work", BLUE))
    for start, length, name, color in busy:
        axes.barh(3, length, left=start, color=color, edgecolor=INK, height=0.6)
        axes.text(start + length / 2, 3, name, ha="center", va="center", color=INK)
    axes.set_yticks([3], ["device"])
    axes.set_xlim(0, 2 * (queued + work))
    axes.set_ylim(-0.6, 3.6)
    label(axes, "seconds", "", f"The work takes {work} s, its launch {launch}")
    return drawn, (
        f"A device has {queued} s of earlier work in its queue. Of a call whose launch takes "
        f"{launch} s and whose work takes {work} s a clock sees {launch} s without waiting, "
        f"{queued + work} s if it waits at the end alone, and {launch + work} s if at both ends."
    )
