"""Pictures of lab 01: how pairs turn, who reads whom, and what each layer adds to the answer."""

import torch

from labs.plots import (
    BLUE,
    COLORS,
    FONT,
    GREY,
    INK,
    LINES,
    MARKERS,
    Drawn,
    explains,
    figure,
    label,
)
from labs.plots.checkpoint import config, model, run, word

CHECKPOINTS = ("target",)


@explains("rope", theta=(100.0, 5e5), length=(32, 256))
def pair_angles(theta: float = 1e4, length: int = 64) -> Drawn:
    """The first pair goes round every 6.3 positions, the last one hardly moves in the whole text.

    Together they tell near positions apart, and far ones. A larger theta slows all but the first.
    """
    width = config("target").head_dim
    drawn, axes = figure()
    positions = torch.arange(length)
    ends: list[str] = []
    for n, pair in enumerate((0, width // 8, width // 4, width // 2 - 1)):
        wave = 2 * torch.pi * theta ** (2 * pair / width)
        height = torch.cos(positions / wave * 2 * torch.pi)
        axes.plot(
            positions,
            height,
            color=COLORS[n],
            linestyle=LINES[n],
            marker=MARKERS[n],
            markevery=max(1, length // 8),
            label=f"pair {pair}: a turn in {wave:,.0f}",
        )
        ends.append(f"pair {pair} in {wave:,.1f}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    label(axes, "position", "cosine of the angle", f"Pairs of a head of {width}, theta {theta:g}")
    text = f"Cosine of the angle of four pairs over positions 0 to {length - 1}, theta {theta:g}. "
    return drawn, f"{text}A full turn takes, in positions: {'; '.join(ends)}."


@explains("attention", layer=(0, 3, 7), head=(3, 5))
def attention_pattern(layer: int = 2, head: int = 0) -> Drawn:
    """Each row is a query and adds up to 1; nothing right of the diagonal is ever read.

    Some heads read the token before, some the same word earlier, and many rest on the first token.
    """
    read = run("target")
    shares = read.attention[layer][head]
    count = len(shares)
    drawn, axes = figure(height=4.6)
    image = axes.imshow(shares.sqrt().numpy(), cmap="cividis", vmin=0, vmax=1)
    bar = drawn.colorbar(image, ax=axes, ticks=[0, 0.1**0.5, 0.5, 1])
    bar.ax.set_yticklabels(["0", "0.1", "0.25", "1"], fontsize=FONT - 1)
    bar.set_label("weight (scale by its root)", fontsize=FONT)
    label(axes, "key position", "query position", f"Target, layer {layer}, head {head}")
    first = shares[1:, 0].mean()
    before = shares.diagonal(-1)[1:].mean()
    axes.text(
        count * 0.98,
        count * 0.08,
        f"first token {first:.0%}\ntoken before {before:.0%}",
        color="white",
        fontsize=FONT,
        ha="right",
        va="center",
    )
    likes, places = shares[1:].max(-1)
    far = int((torch.arange(1, count) - places).float().median())
    return drawn, (
        f"Attention weights of head {head} in layer {layer} over {count} tokens of Python, a lower "
        f"triangle: no query reads a later key. On average {first:.0%} of a query's weight lies on "
        f"the first token and {before:.0%} on the token before it; the key that is read most gets "
        f"{likes.mean():.0%} and lies {far} tokens back in the median."
    )


@explains("model", place=(5, 24, 43))
def logit_lens(place: int = 46) -> Drawn:
    """Read out early: the norm and the output matrix make a guess of the residual of each layer.

    The first layers still say what stands there; the answer appears late, and the last layers make
    it sure.
    """
    read = run("target")
    whole = model("target")
    answer = int(read.logits[place].argmax())
    chances: list[float] = []
    words: list[str] = []
    last = len(read.hidden) - 1
    for number, state in enumerate(read.hidden):
        # The last state has its norm already.
        ready = whole.model.norm(state[place]) if number < last else state[place]
        guess = whole.lm_head(ready).softmax(0)
        chances.append(float(guess[answer]))
        words.append(word(int(guess.argmax())))
    drawn, axes = figure(height=3.4)
    right = [word(answer) == item for item in words]
    bars = axes.bar(
        range(last + 1),
        chances,
        color=[BLUE if hit else GREY for hit in right],
        hatch=["" if hit else "///" for hit in right],
        edgecolor=INK,
    )
    for bar, guessed in zip(bars, words, strict=True):
        middle = bar.get_x() + bar.get_width() / 2
        axes.text(middle, bar.get_height() + 0.03, guessed, ha="center", fontsize=FONT)
    axes.set_ylim(0, 1.15)
    axes.set_xticks(range(last + 1), ["in", *map(str, range(1, last)), "out"])
    title = f"What follows {read.words[place]!r}: best guess after each layer"
    label(axes, "layers so far", f"probability of {word(answer)!r}", title)
    steps = ", ".join(f"{item!r} {chance:.0%}" for item, chance in zip(words, chances, strict=True))
    return drawn, (
        f"Best next token behind {read.words[place]!r} after 0 to {last} layers, and the "
        f"probability that the final answer {word(answer)!r} has there: {steps}."
    )
