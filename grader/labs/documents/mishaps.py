"""What has happened to a file that cannot be read: named, with the line where it shows.

An editor saved it in another encoding, git left a merge conflict in it, or a notebook has the name
of a Python file. Python itself says "invalid syntax" or "null bytes" to all of them. Standard
library only: the readers of submissions use this in processes of their own.
"""

import codecs
import re

MOST_LINE = 100  # characters of a line that is shown
_SAVE = "save it as UTF-8 (in VS Code: the encoding in the status bar)"
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),  # before that of UTF-16, which it begins with
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_LOOKED_AT = 4096  # bytes
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?: .*|\r?)$", re.MULTILINE)
_KEYS = ('"cells"', '"nbformat"')

Mishap = tuple[int, str]  # a line, 0 if there is none, and what has happened


def encoding_mishap(content: bytes) -> Mishap | None:
    """Tell that a file is no UTF-8 text, and what it seems to be."""
    if found := wide_mishap(content):
        return found
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, said = _line_at(content, error.start)
        return line, f"byte 0x{content[error.start]:02x} is no UTF-8{_in(said)}: {_SAVE}"
    if b"\0" not in content:
        return None
    line, said = _line_at(content, content.find(b"\0"))
    return line, f"there is a null byte, which no text has{_in(said)}: delete it"


def wide_mishap(content: bytes) -> Mishap | None:
    """Tell that a file takes two or four bytes for each character."""
    name = _wide(content)
    if not name:
        return None
    first = content.decode(name, errors="replace").lstrip("\ufeff").partition("\n")[0]
    begins = f"; it begins with `{shown_line(first)}`" if first.strip() else ""
    return 0, f"the file is in {name[:6]}, not in UTF-8: {_SAVE}{begins}"


def conflict_mishap(text: str) -> Mishap | None:
    """Tell the first mark that a merge conflict has left."""
    found = _CONFLICT.search(text)
    if found is None:
        return None
    line = text.count("\n", 0, found.start()) + 1
    mark = f"`{shown_line(found[0])}` is the mark of a merge conflict"
    return line, f"{mark}: keep one version, and delete the lines of its marks"


def notebook_mishap(content: bytes) -> Mishap | None:
    """Tell that what has the name of a Python file is a notebook."""
    text = content.decode("utf-8-sig", errors="replace")
    lines = (line for line in text.split("\n") if line.strip() and not _CONFLICT.match(line))
    if next(lines, "").lstrip()[:1] != "{" or not all(key in text for key in _KEYS):
        return None
    told = "this is the JSON of a notebook, not Python: a notebook's name ends in .ipynb"
    conflict = conflict_mishap(text)
    return (conflict[0], f"{told}; and {conflict[1]}") if conflict else (1, told)


def mishap(content: bytes) -> Mishap | None:
    """Tell what has happened to a file that is no Python, if it can be told."""
    text = content.decode("utf-8-sig", errors="replace")
    return encoding_mishap(content) or conflict_mishap(text)


def shown_line(line: str) -> str:
    """Return the start of a line, with escapes for what does not print."""
    line = line.strip()
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line[:MOST_LINE])
    return text + "…" * (len(line) > MOST_LINE)


def _wide(content: bytes) -> str:
    """Return the encoding of two or four bytes a character; "" for any other."""
    for mark, name in _MARKS:
        if content.startswith(mark):
            return name
    head = content[:_LOOKED_AT]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) <= len(head) // 4:
        return ""
    if even and odd:
        return "UTF-32-BE" if head[:1] == b"\0" else "UTF-32-LE"
    return "UTF-16-BE" if even else "UTF-16-LE"


def _line_at(content: bytes, place: int) -> Mishap:
    """Return the number and the text of the line of a byte."""
    start = content.rfind(b"\n", 0, place) + 1
    line = content[start:].split(b"\n", 1)[0]
    return content.count(b"\n", 0, place) + 1, line.decode("utf-8", errors="replace")


def _in(line: str) -> str:
    return f", in `{shown_line(line)}`" if line.strip() else ""
