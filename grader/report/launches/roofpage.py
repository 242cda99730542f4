"""Metered launches as one HTML page: the picture, then the same tables as a terminal has."""

from collections.abc import Iterator, Sequence

from grader.labs.metered import Tuned
from grader.report.launches.rooflines import (
    CARD_HEAD,
    MEANS,
    TENSOR_HEAD,
    Gauged,
    card_rows,
    computed,
    grid_of,
    largest,
    tensor_rows,
)
from grader.report.markup.web import escaped, page, table

STYLE = "main { max-width: 60rem } .roofs { max-width: 100%; height: auto }"


def roof_page(gauged: Sequence[Gauged], tuned: Sequence[Tuned], picture: str, title: str) -> str:
    """Return the page; nothing in it comes from elsewhere, and what a file says is escaped."""
    means = " ".join(map(escaped, MEANS))
    body = [f"<h1>{escaped(title)}</h1>", picture, f"<p>{means}</p>"]
    for number, one in enumerate(largest(gauged), 1):
        body += _launch(number, one)
    for kernel in tuned:
        body += _tuned(kernel)
    return page(title, body, style=STYLE)


def _launch(number: int, one: Gauged) -> Iterator[str]:
    made = one.metered
    yield f"<h2>{number} {escaped(made.kernel)}, line {made.line}</h2>"
    yield f"<p>{escaped(one.launch)}; grid {grid_of(made)}</p>"
    yield table(TENSOR_HEAD, tensor_rows(made))
    yield f"<p>{escaped(computed(one))}</p>"
    yield table(CARD_HEAD, card_rows(one))


def _tuned(kernel: Tuned) -> Iterator[str]:
    yield f"<h2>{escaped(kernel.kernel)}, line {kernel.line}: what the autotuner may choose</h2>"
    yield f"<ul>{''.join(f'<li>{escaped(config)}</li>' for config in kernel.configs)}</ul>"
