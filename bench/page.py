"""A page of ``docs/`` of which a command writes the measured part, between two marks."""

from collections.abc import Sequence
from pathlib import Path

from grader.errors import UsageError
from grader.files import write_file

BEGIN, END = "<!-- measured: a command writes what follows -->", "<!-- end of it -->"
BEGIN_ON = "<!-- measured on {}: a command writes what follows -->"  # a page of several devices


def read_page(target: str | None) -> str:
    """Return the text of a page; "" where there is none yet."""
    path = Path(target) if target is not None else None
    try:
        return path.read_text(encoding="utf-8") if path and path.is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {target}: {error}") from None


def write_page(target: str, measured: str, title: str, device: str = "") -> None:
    """Replace the measured part of a page, or that of a device, or make the page."""
    page = into_page(read_page(target), measured, title, device)
    write_file(Path(target), page.encode())


def command(arguments: Sequence[str]) -> str:
    """The command as a page may show it: of absolute paths, which nobody else has, the name."""
    shown = (Path(word).name if word.startswith("/") else word for word in arguments)
    return " ".join(["lab", *shown])


def into_page(page: str, measured: str, title: str, device: str = "") -> str:
    """Put the table between the two marks of a page; a new page is the table below its title."""
    mark = BEGIN_ON.format(device) if device else BEGIN
    marked = f"{mark}\n\n{measured}\n{END}"
    if not page.strip():
        return f"# {title}\n\n{marked}\n"
    before, begin, rest = page.partition(mark)
    _, end, after = rest.partition(END)
    if not begin or not end:
        hint = f"write the lines {mark} and {END}"
        raise UsageError("the file has no place for the table", hint)
    return f"{before}{marked}{after}"
