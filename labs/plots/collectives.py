"""Pictures of lab 14: what a rank sends, where a pipeline waits, what two GPUs were measured at."""

from labs.plots import COLORS, FONT, GREY, INK, LINES, MARKERS, Drawn, explains, figure, label

CHECKPOINTS = ()

# all_reduce between two H200 of one host by NCCL: bytes and microseconds (docs/collectives.md).
MEASURED = (
    *((32, 33.6), (256, 34.3), (2048, 34.4), (16384, 33.4), (131072, 33.8)),
    *((1 << 20, 36.6), (8 << 20, 46.6), (64 << 20, 252.0), (512 << 20, 1738.0)),
)


@explains("all_reduce", largest=(16, 64))
def what_the_busiest_rank_sends(largest: int = 32) -> Drawn:
    """In a ring of chunks no rank sends more than twice the tensor, however many there are."""
    worlds = list(range(2, largest + 1))
    ways = {
        "whole tensors, round or through rank 0": [world - 1 for world in worlds],
        "a ring of chunks": [2 * (world - 1) / world for world in worlds],
    }
    drawn, axes = figure()
    for n, (name, sent) in enumerate(ways.items()):
        style = {"color": COLORS[n], "linestyle": LINES[n], "marker": MARKERS[n]}
        axes.plot(worlds, sent, label=name, markevery=max(1, largest // 8), **style)
    axes.set_yscale("log", base=2)
    axes.legend(frameon=False, fontsize=FONT)
    label(axes, "ranks", "tensors that the busiest rank sends")
    said = "; ".join(f"{name} {sent[-1]:.1f}" for name, sent in ways.items())
    return drawn, (
        f"How many times the size of the tensor the busiest rank sends in an all-reduce of 2 to "
        f"{largest} ranks. With {largest} ranks: {said}."
    )


@explains("schedules", stages=(4, 16), most=(32, 128))
def share_of_the_bubble(stages: int = 8, most: int = 64) -> Drawn:
    """More microbatches or chunks, or work on gradients in the gaps: three ways to idle less."""
    counts = list(range(stages, most + 1, stages))
    ways: dict[str, list[float]] = {}
    for chunks in (1, 2, 4):
        idle = (stages - 1) / chunks
        name = "1F1B, as GPipe" if chunks == 1 else f"{chunks} chunks a stage"
        ways[name] = [idle / (count + idle) for count in counts]
    ways["ZB-H1, F = B = W"] = [(stages - 1) / (3 * count + stages - 1) for count in counts]
    drawn, axes = figure()
    for n, (name, shares) in enumerate(ways.items()):
        style = {"color": COLORS[n], "linestyle": LINES[n], "marker": MARKERS[n]}
        axes.plot(counts, [100 * share for share in shares], label=name, **style)
    axes.set_ylim(0)
    axes.legend(frameon=False, fontsize=FONT)
    label(axes, "microbatches", "% of all time", f"idle time of {stages} stages")
    said = "; ".join(f"{name} {shares[0]:.0%}" for name, shares in ways.items())
    return drawn, (
        f"Idle share of {stages} stages for {counts[0]} to {counts[-1]} microbatches. With "
        f"{counts[0]}: {said}. With {counts[-1]} 1F1B is at {ways['1F1B, as GPipe'][-1]:.0%}."
    )


@explains("cost", latency=(20.0, 50.0), rate=(150.0, 600.0))
def time_of_an_all_reduce(latency: float = 34.0, rate: float = 309.0) -> Drawn:
    """Small tensors cost the latency, large ones the bytes: the knee is where both are equal."""
    sizes = [size for size, _ in MEASURED]
    model = [latency + size / (rate * 1e3) for size in sizes]
    drawn, axes = figure()
    axes.plot(sizes, model, color=COLORS[0], label=f"{latency:g} µs + bytes / {rate:g} GB/s")
    times = [time for _, time in MEASURED]
    style = {"color": COLORS[1], "marker": MARKERS[1], "linestyle": "", "markeredgecolor": INK}
    axes.plot(sizes, times, label="measured, two H200", **style)
    knee = latency * rate * 1e3
    axes.axvline(knee, color=GREY, linestyle=LINES[2])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.legend(frameon=False, fontsize=FONT)
    label(axes, "bytes", "µs", "all_reduce of two ranks")
    return drawn, (
        f"Time of an all_reduce between two H200, measured: {times[0]:g} µs for {sizes[0]} bytes, "
        f"{times[-1]:g} µs for {sizes[-1] >> 20} MiB. A latency of {latency:g} µs and a rate of "
        f"{rate:g} GB/s say {model[0]:.0f} and {model[-1]:.0f}; they cost the same at "
        f"{knee / 2**20:.0f} MiB."
    )
