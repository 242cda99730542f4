"""Pictures of lab 04: how far pairs reach, what scores depend on, what a sink cache keeps."""

import torch

from labs.plots import (
    BLUE,
    COLORS,
    FONT,
    GREY,
    INK,
    LINES,
    MARKERS,
    ORANGE,
    Drawn,
    explains,
    figure,
    label,
)
from labs.plots.checkpoint import config, weights

CHECKPOINTS = ("target",)


@explains("frequencies", width=(32, 128), theta=(1e4, 1e6))
def wavelengths(width: int = 64, theta: float = 5e5) -> Drawn:
    """Each pair takes longer than the one before, by one factor: a straight line on this scale.

    A pair above the dashed line has not gone round once in the text that the target was trained on;
    that is why a larger theta, or a scaling, changes what a model can read.
    """
    trained = config("target").max_position_embeddings
    pairs = torch.arange(width // 2)
    drawn, axes = figure()
    said: list[str] = []
    for n, base in enumerate((config("target").rope_theta, theta)):
        waves = 2 * torch.pi * base ** (pairs / (width / 2))
        name = f"theta {base:,.0f}"
        axes.plot(pairs, waves, color=COLORS[n], marker=MARKERS[n], linestyle=LINES[n], label=name)
        longer = int((waves > trained).sum())
        said.append(f"with {name} from {waves[0]:.1f} to {waves[-1]:,.0f} positions, "
                    f"{longer} of {width // 2} pairs above {trained:,}")  # fmt: skip
    axes.axhline(trained, color=INK, linestyle="--")
    axes.text(0, trained * 1.2, f"trained on {trained:,} positions", fontsize=FONT, va="bottom")
    axes.set_yscale("log")
    axes.legend()
    label(axes, "pair i", "positions for a full turn", f"Pairs of a head of {width}")
    return drawn, f"Positions for a full turn of each pair: {'; '.join(said)}."


@explains("rotate", layer=(1, 4), head=(2, 6), start=(10, 1000))
def score_by_distance(layer: int = 0, head: int = 0, start: int = 500) -> Drawn:
    """A rotated query and key score by their distance alone: both lines are the same.

    Where the query stands makes no difference, so that positions may be shifted together.
    """
    query, key = _pair(layer, head)
    shape = config("target")
    turn = shape.rope_theta ** -torch.linspace(0, 1, len(query) + 1, dtype=torch.float64)[:-1]
    distances = torch.arange(0, 200)
    drawn, axes = figure()
    scores = []
    for n, at in enumerate((0, start)):
        # A pair is a complex number, its rotation a factor of size 1.
        queries = query * torch.polar(torch.ones_like(turn), turn * (at + 200))
        angles = turn * (at + 200 - distances[:, None])
        keys = key * torch.polar(torch.ones_like(angles), angles)
        scores.append((queries * keys.conj()).sum(-1).real)
        axes.plot(
            distances,
            scores[n],
            color=COLORS[n],
            linestyle="-" if n == 0 else "",
            marker="" if n == 0 else "o",
            markevery=6,
            label=f"query at position {at + 200}",
        )
    axes.legend()
    label(axes, "positions between query and key", "q · k", f"Layer {layer}, head {head}")
    apart = float((scores[0] - scores[1]).abs().max())
    return drawn, (
        f"Score of one query and one key of layer {layer}, head {head}, by distance 0 to 199, for "
        f"a query at {200} and at {start + 200}: {scores[0][0]:.3f} at distance 0, "
        f"{scores[0][1]:.3f} at 1, {scores[0][50]:.3f} at 50, {scores[0][199]:.3f} at 199. The two "
        f"lines are the same to {max(apart, 1e-9):.1g}."
    )


def _pair(layer: int, head: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A real query and key, for the token of a blank, as D/2 complex numbers of length 1."""
    table, shape = weights("target"), config("target")
    x = table["model.embed_tokens.weight"][300].double()
    both: list[torch.Tensor] = []
    group = head * shape.num_kv_heads // shape.num_heads
    for name, row in (("q", head), ("k", group)):
        matrix = table[f"model.layers.{layer}.self_attn.{name}_proj.weight"].double()
        real, imaginary = (matrix @ x).unflatten(0, (-1, 2, shape.head_dim // 2))[row]
        pairs = torch.complex(real, imaginary)
        both.append(pairs / torch.linalg.vector_norm(pairs))
    return both[0], both[1]


@explains("sink", sinks=(1, 4), window=(4, 9), steps=(16, 28))
def what_a_sink_cache_keeps(sinks: int = 2, window: int = 6, steps: int = 15) -> Drawn:
    """The first tokens stay, the last ones slide, and what lies between is dropped for good.

    The number in a cell is the index inside the cache: it never grows past sinks + window - 1.
    """
    drawn, axes = figure(height=4.0)
    for step in range(steps):
        kept = [*range(min(sinks, step + 1)), *range(max(sinks, step + 1 - window), step + 1)]
        for token in range(step + 1):
            inside = token in kept
            color = (ORANGE if token < sinks else BLUE) if inside else "white"
            style = {"color": color, "hatch": "" if inside else "///", "edgecolor": GREY}
            axes.bar(token, -0.95, 0.95, bottom=-step, **style)
            if inside:
                axes.text(
                    token,
                    -step - 0.5,
                    str(kept.index(token)),
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=INK if token < sinks else "white",
                )
    axes.set_yticks(
        [-n - 0.5 for n in range(0, steps, 4)], [str(n + 1) for n in range(0, steps, 4)]
    )
    title = f"{sinks} sinks and a window of {window}: orange, blue; hatched: dropped"
    label(axes, "token", "tokens read so far", title)
    dropped = max(0, steps - sinks - window)
    return drawn, (
        f"What is kept while {steps} tokens are read: always the first {sinks} and the last "
        f"{window}. At the end {len(kept)} tokens are kept, at indices 0 to {len(kept) - 1}, and "
        f"tokens {sinks} to {sinks + dropped - 1} are dropped, {dropped} in all."
    )
