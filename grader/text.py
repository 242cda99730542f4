"""Text that a submission may have written, made fit to be shown.

Everything that a terminal, a browser or an editor would act on instead of drawing (control and
ANSI characters, direction overrides, zero-width characters, lone surrogates) is written out as an
escape, so a message can neither forge a line of ours nor hide one. So is what Unicode calls a
letter or a mark and nobody draws, and a pile of marks that would grow over the lines around it.
"""

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, cast

SHOWN = 4000  # characters of one message or output that a page shows
MARKS = 3  # on one character: few texts need so many
# Default_Ignorable_Code_Point of Unicode, as far as Python says that it prints; but what chooses
# the form of the character before it, as many an emoji has it, is a mark like others.
UNDRAWN = frozenset(
    chr(code)
    for first, last in (
        *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x3164, 0x3164)),
        *((0xFFA0, 0xFFA0), (0xE0100, 0xE01EF)),
    )
    for code in range(first, last + 1)
)


def clip(text: str, limit: int = SHOWN) -> str:
    """Cut ``text`` to ``limit`` characters and say how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n… {len(text) - limit:,} more characters"


def visible(text: str, limit: int = SHOWN) -> str:
    """Escape what does not print; line breaks and tabs stay."""
    return _drawn(clip(text, limit).replace("\r\n", "\n"), "\n\t")


def visible_line(text: str, limit: int = 300) -> str:
    """Like ``visible``, on one line: for identifiers, table cells and headings."""
    if len(text) > limit:
        text = f"{text[:limit]}…"
    return _drawn(text)


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


def moment_text(moment: datetime | None, zone: tzinfo = UTC) -> str:
    """A moment as people of a zone read it."""
    if moment is None:
        return "an unknown time"
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M %Z")


def _drawn(text: str, kept: str = "") -> str:
    """Escape what does not print, but not the characters in ``kept``."""
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        drawn = char.isprintable() and char not in UNDRAWN and marks <= MARKS
        shown.append(char if drawn or char in kept else _escape(char))
    return "".join(shown)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
