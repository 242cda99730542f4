"""Pictures of lab 05: what a cache costs, what it saves, and what a chunk may read."""

import functools

import torch
from torch.utils.flop_counter import FlopCounterMode

from labs.plots import BLUE, COLORS, FONT, GREY, INK, LINES, MARKERS, Drawn, explains, figure, label
from labs.plots.checkpoint import config, model

CHECKPOINTS = ("target",)


@functools.cache
@torch.inference_mode()
def _measured(length: int) -> tuple[int, float, float]:
    """Bytes kept behind ``length`` tokens in float32, and FLOPs of a step without and with them."""
    tokens = torch.ones(1, length, dtype=torch.int64)
    with FlopCounterMode(display=False) as whole:
        out = model("target")(tokens, use_cache=True)
    kept = [tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]
    size = sum(tensor.nbytes for tensor in kept)
    with FlopCounterMode(display=False) as step:
        model("target")(tokens[:, :1], past_key_values=out.past_key_values, use_cache=True)
    return size, whole.get_total_flops(), step.get_total_flops()


@explains("attend", new=(1, 6), cached=(0, 3))
def chunk_mask(new: int = 3, cached: int = 5) -> Drawn:
    """Queries are the last positions: all of the cached prefix is theirs, and a triangle behind it.

    With one new token the mask is a full row; without a cache it is the triangle alone.
    """
    keys = new + cached
    drawn, axes = figure(height=1.6 + 0.36 * new)
    allowed = torch.arange(keys) <= torch.arange(cached, keys).unsqueeze(1)
    for query in range(new):
        for key in range(keys):
            reads = bool(allowed[query, key])
            style = {"color": (BLUE if key >= cached else GREY) if reads else "white"}
            axes.bar(key, -0.94, 0.94, bottom=-query, edgecolor=INK, linewidth=0.6, **style)
            if reads:
                ink = "white" if key >= cached else INK
                axes.text(key, -query - 0.47, "1", color=ink, ha="center", va="center")
    axes.set_xticks(range(keys))
    axes.set_yticks([-n - 0.47 for n in range(new)], [str(cached + n) for n in range(new)])
    title = f"T = {new} queries, S = {keys} keys: {cached} cached (grey), {new} new (blue)"
    label(axes, "key position", "query position", title)
    counts = ", ".join(str(int(row.sum())) for row in allowed)
    return drawn, (
        f"A grid of {new} queries by {keys} keys, {cached} of which are cached. The queries stand "
        f"at positions {cached} to {keys - 1} and read {counts} keys: all cached ones, and of the "
        f"new ones those up to their own."
    )


@explains("generate", longest=(96, 320))
def work_of_a_step(longest: int = 256) -> Drawn:
    """Without a cache each token costs as much as reading the whole text again.

    With it a step costs nearly the same at every length; what still grows is attention's part.
    """
    lengths = range(32, longest + 1, 32)
    figures = [_measured(length) for length in lengths]
    drawn, axes = figure()
    names = ("all tokens again", "one token and a cache")
    for n, name in enumerate(names):
        mega = [row[n + 1] / 1e6 for row in figures]
        axes.plot(lengths, mega, color=COLORS[n], marker=MARKERS[n], linestyle=LINES[n], label=name)
    axes.set_yscale("log")
    axes.legend()
    label(axes, "tokens so far", "MFLOP for the next token", "Target, counted")
    _, again, once = figures[-1]
    return drawn, (
        f"Work for one more token of the target: behind {lengths[0]} tokens "
        f"{figures[0][1] / 1e6:.0f} MFLOP without a cache and {figures[0][2] / 1e6:.1f} with one; "
        f"behind {lengths[-1]} tokens {again / 1e6:.0f} and {once / 1e6:.1f}, which is "
        f"{again / once:.0f} times less."
    )


@explains("bytes", longest=(256, 1024), batch=(1, 64))
def memory_by_length(longest: int = 512, batch: int = 16) -> Drawn:
    """Memory grows with every token and every row, in a straight line; heads that share shrink it.

    The dotted line is what the weights take: with enough text the cache is larger than the model.
    """
    shape = config("target")
    lengths = torch.arange(0, longest + 1, longest // 8)
    one = _measured(32)[0] / 32 / 2  # bytes of a token of ours; half of them in bfloat16
    drawn, axes = figure()
    said: list[str] = []
    shares = {"each its own (MHA)": shape.num_heads, "the target's (GQA)": shape.num_kv_heads,
              "one for all (MQA)": 1}  # fmt: skip
    for n, (name, heads) in enumerate(shares.items()):
        mebi = lengths * (one * batch * heads / shape.num_kv_heads / 2**20)
        axes.plot(
            lengths,
            mebi,
            color=COLORS[n],
            marker=MARKERS[n],
            linestyle=LINES[n],
            label=f"{_heads(heads)}: {name}",
        )
        said.append(f"{_heads(heads)} {mebi[-1]:.1f} MiB")
    model_size = sum(item.numel() for item in model("target").parameters()) * 2 / 2**20
    axes.axhline(model_size, color=INK, linestyle=":")
    axes.text(0.3 * longest, model_size, "all weights", va="bottom", fontsize=FONT)
    axes.legend()
    label(axes, "tokens in each row", "MiB in bfloat16", f"Cache of a batch of {batch}")
    return drawn, (
        f"Memory of a cache in bfloat16, {batch} rows of {longest} tokens, for {shape.num_heads} "
        f"query heads: {'; '.join(said)}. It grows in proportion to the length; the weights take "
        f"{model_size:.1f} MiB."
    )


def _heads(count: int) -> str:
    return "1 key head" if count == 1 else f"{count} key heads"
