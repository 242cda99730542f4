"""Text that a submission may have written, made fit to be shown.

Everything that a terminal, a browser or an editor would act on instead of drawing (control and
ANSI characters, direction overrides, zero-width characters, lone surrogates) is written out as an
escape, so a message can neither forge a line of ours nor hide one.
"""

from collections.abc import Sequence
from typing import Any, cast

SHOWN = 4000  # characters of one message or output that a page shows


def clip(text: str, limit: int = SHOWN) -> str:
    """Cut ``text`` to ``limit`` characters and say how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n… {len(text) - limit:,} more characters"


def visible(text: str, limit: int = SHOWN) -> str:
    """Escape what does not print; line breaks and tabs stay."""
    lines = clip(text, limit).replace("\r\n", "\n")
    return "".join(_drawn(char) for char in lines)


def visible_line(text: str, limit: int = 300) -> str:
    """Like ``visible``, on one line: for identifiers, table cells and headings."""
    if len(text) > limit:
        text = f"{text[:limit]}…"
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def first_line(text: str, limit: int = 300) -> str:
    """The first line that is not blank, escaped; empty if there is none."""
    head = text[: 4 * limit].strip()
    return visible_line(head.splitlines()[0], limit) if head else ""


def encodable(value: Any) -> Any:
    """A copy that strict JSON and UTF-8 can hold: no lone surrogates, no NaN, no unknown types."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case float():
            # NaN and infinity have no JSON form; a reader expects null where a number is missing.
            return value if abs(value) < float("inf") else None
        case bool() | int() | None:
            return value
        case dict():
            pairs = cast(dict[Any, Any], value).items()
            return {encodable(str(key)): encodable(item) for key, item in pairs}
        case list() | tuple():
            return [encodable(item) for item in cast(Sequence[Any], value)]
        case _:
            return encodable(str(value))


def number(value: float) -> str:
    """Points or seconds as a person writes them: 30, 71.5, 0.33."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _drawn(char: str) -> str:
    return char if char.isprintable() or char in "\n\t" else _escape(char)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
