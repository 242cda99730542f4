"""Pictures that explain the tasks of a lab: ``labs/plots/TOPIC.py`` draws those of one lab.

A function that is decorated draws one picture and returns it with a text that says the same to a
person who cannot see it. Colours differ for colour-blind eyes too, and markers, hatches or labels
carry what they say once more.
"""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

Drawn = tuple[Figure, str]  # the picture, and its alternative text

INK = "#1f2933"
GREY = "#c5ccd3"
# Okabe and Ito's: told apart with any colour vision, and apart in grey too where neighbours.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY = (
    *("#0072b2", "#e69f00", "#009e73"),
    *("#d55e00", "#cc79a7", "#56b4e9"),
)
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1)))
HATCHES = ("", "///", "\\\\\\", "||", "--", "xx")
FONT = 10.5  # points; a picture 6.4 inches wide is about as wide as a column of text


def explains(
    task: str, **choices: tuple[Any, ...]
) -> Callable[[Callable[..., Drawn]], Callable[..., Drawn]]:
    """Say which task a picture explains, "" for the whole lab, and what its parameters may be.

    All parameters are keywords with defaults; ``choices`` has some values for each.
    """

    def mark(function: Callable[..., Drawn]) -> Callable[..., Drawn]:
        function.explains, function.choices = task, choices  # pyright: ignore
        return function

    return mark


def figure(columns: int = 1, rows: int = 1, height: float = 3.2, **options: Any) -> Any:
    """Return a white figure of our width, and its axes as ``subplots`` gives them."""
    drawn = Figure(figsize=(6.4, height), layout="constrained", facecolor="white")
    return drawn, drawn.subplots(rows, columns, **options)


def label(axes: Axes, x: str = "", y: str = "", title: str = "") -> None:
    """Name the axes in our size of letters, and take the box around them away."""
    axes.set_xlabel(x, fontsize=FONT)
    axes.set_ylabel(y, fontsize=FONT)
    axes.set_title(title, fontsize=FONT + 0.5)
    axes.tick_params(labelsize=FONT - 1)
    axes.spines[["top", "right"]].set_visible(False)
    legend = axes.get_legend()
    for words in legend.get_texts() if legend else ():
        words.set_fontsize(FONT - 1)
