"""Tables in Markdown: written, and read back from the repository's documents."""

from collections.abc import Iterable, Iterator, Sequence

from grader.site.sources.markdown import outside


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; cells are Markdown, and a bar in one is escaped."""
    lines = (head, ["---"] * len(head), *rows)
    return "".join("| " + " | ".join(map(cell, line)) + " |\n" for line in lines)


def cell(text: str) -> str:
    """Return text as it may stand in a cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return text as inline code, whatever ticks it holds; "" stays empty."""
    ticks = "``" if "`" in text else "`"
    return f"{ticks}{text}{ticks}" if text else ""


def rows_of(text: str, head: Sequence[str]) -> Iterator[list[str]]:
    """Give the rows of all tables of a document that begin with these column heads."""
    inside = False
    for prose, line in outside(text):
        cells = [part.strip() for part in line.strip().strip("|").split("|")]
        is_row = prose and line.startswith("|")
        if is_row and inside and not set(line) <= set("|-: "):
            yield cells
        inside = is_row and (inside or cells[: len(head)] == [*head])
