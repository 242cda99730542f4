"""Pictures of lab 02: rows of one length, what they may read, and what waits for the longest."""

from matplotlib.patches import Patch

from labs.plots import BLUE, FONT, GREY, INK, ORANGE, SKY, Drawn, explains, figure, label
from labs.plots.checkpoint import TEXT, tokenizer, word

CHECKPOINTS = ("target",)
HATCH = "////"


def _lines(count: int) -> list[list[int]]:
    """The tokens of some lines of our text, of different lengths."""
    lines = [line for line in TEXT.splitlines() if line.strip()]
    return [tokenizer().encode(line) for line in lines[:count]]


@explains("pad", rows=(2, 5))
def padding(rows: int = 4) -> Drawn:
    """Prompts end in one column: there the next token of every row will stand.

    Padding, hatched, is on the left; what is in it must not matter.
    """
    texts = _lines(rows)
    longest = max(len(text) for text in texts)
    drawn, axes = figure(height=1.0 + 0.5 * rows)
    for row, text in enumerate(texts):
        gap = longest - len(text)
        for column in range(longest):
            inside = column >= gap
            color = SKY if inside else GREY
            axes.bar(
                column,
                -0.9,
                0.95,
                bottom=-row,
                color=color,
                edgecolor="white",
                hatch="" if inside else HATCH,
            )
            if inside:
                words = word(text[column - gap])[:6]
                axes.text(
                    column, -row - 0.45, words, ha="center", va="center", fontsize=8, color=INK
                )
    axes.set_yticks([-row - 0.45 for row in range(rows)], [f"{len(p)} tokens" for p in texts])
    axes.set_xticks(range(longest))
    label(axes, "column of the batch", "", f"{rows} prompts as one tensor [{rows}, {longest}]")
    axes.legend(
        [Patch(facecolor=SKY), Patch(facecolor=GREY, hatch=HATCH, edgecolor="white")],
        ["a real token", "padding"],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.3),
        ncols=2,
        fontsize=FONT - 1,
    )
    real = sum(map(len, texts))
    return drawn, (
        f"{rows} prompts of {', '.join(str(len(p)) for p in texts)} tokens in {rows} rows of "
        f"{longest} columns. All end in the last column; {rows * longest - real} of the "
        f"{rows * longest} places are padding, on the left."
    )


@explains("mask", length=(4, 9), padding=(0, 3))
def mask_with_padding(length: int = 6, padding: int = 2) -> Drawn:
    """A real query reads itself and the real tokens before it: a triangle that begins late.

    Hatched rows belong to padding; what they read is no answer, but softmax must survive it.
    """
    total = length + padding
    drawn, axes = figure(height=3.8)
    seen = 0
    for query in range(total):
        for key in range(total):
            reads = padding <= key <= query
            seen += reads
            color = BLUE if reads else "white"
            options = {"color": color, "hatch": ""}
            if query < padding:
                options = {"color": GREY, "hatch": HATCH}
            axes.bar(key, -0.94, 0.94, bottom=-query, edgecolor=INK, linewidth=0.5, **options)
            if reads:
                axes.text(key, -query - 0.47, "1", color="white", ha="center", va="center")
    names = ["pad" if n < padding else str(n - padding) for n in range(total)]
    axes.set_xticks(range(total), names)
    axes.set_yticks([-n - 0.47 for n in range(total)], names)
    axes.set_aspect("equal")
    label(axes, "key (its position)", "query (its position)", "Who reads whom in one row")
    return drawn, (
        f"A grid of {total} queries by {total} keys: {padding} columns of padding, then {length} "
        f"real tokens. Real queries read {seen} cells in all: query 0 one key, the last query "
        f"{length}; no real query reads padding or a later key."
    )


@explains("generate", slots=(2, 6))
def slots_over_time(slots: int = 4) -> Drawn:
    """In a static batch a finished row waits, hatched, until the longest one is done.

    Continuous batching, below, lets the next text in at once and is done sooner.
    """
    lengths = [len(line) for line in _lines(99)] * 2
    static: list[tuple[int, int, int, int]] = []  # slot, start, work, wait
    now = 0
    for first in range(0, len(lengths), slots):
        group = lengths[first : first + slots]
        static += [(slot, now, work, max(group) - work) for slot, work in enumerate(group)]
        now += max(group)
    free = [0] * slots
    moving: list[tuple[int, int, int, int]] = []
    for work in lengths:
        slot = min(range(slots), key=free.__getitem__)
        moving.append((slot, free[slot], work, 0))
        free[slot] += work
    drawn, both = figure(rows=2, height=1.8 + 0.5 * slots, sharex=True)
    titles = (f"static: {now} steps", f"continuous: {max(free)} steps")
    for axes, boxes, title in zip(both, (static, moving), titles, strict=True):
        for number, (slot, start, work, wait) in enumerate(boxes):
            color = SKY if number % 2 else ORANGE
            axes.barh(slot, work, left=start, color=color, edgecolor=INK)
            axes.barh(slot, wait, left=start + work, color=GREY, hatch=HATCH, edgecolor="white")
            axes.text(start + work / 2, slot, str(work), ha="center", va="center", fontsize=9)
        axes.set_yticks(range(slots))
        axes.invert_yaxis()
        label(axes, "", "slot", title)
    both[1].set_xlabel("decode step", fontsize=FONT)
    work = sum(lengths)
    return drawn, (
        f"{len(lengths)} answers of {min(lengths)} to {max(lengths)} tokens in {slots} slots. "
        f"In static batches they take {now} steps and {work / (now * slots):.0%} of the slots do "
        f"work; filled continuously {max(free)} steps and {work / (max(free) * slots):.0%}."
    )
