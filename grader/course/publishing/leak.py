"""The leak scan: does any object that students can fetch hold a line that only instructors may see?

Every line of every blob, commit and tag is compared with the hidden ones, under whatever name it
stands: a copy that was indented, quoted or commented out is found, also in a commit that a later
one has mended; a function is found under other names too. Not found is what was rewritten,
rewrapped or encoded.
"""

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.publishing.hidden import (
    Files,
    Hidden,
    Place,
    Public,
    hidden_lines,
    is_hidden,
    lines_of,
    public_lines,
    telling,
)
from grader.course.publishing.repository import Object, reachable, read_objects, tree_of
from grader.course.publishing.shapes import shapes
from grader.text import visible_line

WEIGHTS = ".safetensors"  # of the checkpoints; no other file may be anything but text
PACKED = ".gz"  # or text that was packed
MOST_UNPACKED = 1 << 26  # bytes


@dataclass(frozen=True, slots=True)
class Leak:
    """One line that students must not see, or a file in which no line can be read."""

    path: str  # "" in a commit or a tag
    line: int
    kind: str
    object: str
    place: Place | None
    text: str

    def __str__(self) -> str:
        where = (
            f"{self.path}:{self.line}" if self.path else f"{self.kind} message, line {self.line}"
        )
        origin = f" is {self.place.file}:{self.place.line}" if self.place else ""
        return f"{where} ({self.kind} {self.object[:12]}){origin}: {visible_line(self.text, 160)}"


def find_leaks(source: Files, folder: Path, tips: Sequence[str]) -> list[Leak]:
    """Search every object that is reachable from ``tips`` for what is hidden in ``source``."""
    objects = {item.id: item for item in read_objects(folder, reachable(folder, tips))}
    trees = [tree_of(folder, item.id) for item in objects.values() if item.kind == "commit"]
    paths: dict[str, str] = {}
    for tree in trees:
        for path, blob in tree.items():
            paths.setdefault(blob, path)
    contents = [{path: objects[blob].content for path, blob in tree.items()} for tree in trees]
    hidden, public = hidden_lines(source), public_lines(source, contents)
    found = [
        Leak(path, 0, "blob", blob, None, "only instructors may see a file of this name")
        for path, blob in sorted({pair for tree in trees for pair in tree.items()})
        if is_hidden(path)
    ]
    for item in objects.values():
        if item.kind != "tree":
            found += _leaks_in(item, paths.get(item.id, ""), hidden, public)
    return sorted(found, key=lambda leak: (leak.path, leak.object, leak.line))


def _leaks_in(item: Object, path: str, hidden: Hidden, public: Public) -> Iterator[Leak]:
    content = readable(item.content, path)
    if content is None:
        yield Leak(path, 0, item.kind, item.id, None, "is not text: no line of it can be read")
        return
    found = False
    for number, line in lines_of(content):
        for form in telling(line):
            places = hidden.get(form, ())
            if places and not public.allows(form, places):
                yield Leak(path, number, item.kind, item.id, places[0], line.strip())
                found = True
                break
    for shape in () if found else shapes(content):
        places = hidden.get(shape.digest, ())
        if places and not public.allows(shape.digest, places):
            text = f"{shape.name} is the same code under other names"
            yield Leak(path, shape.line, item.kind, item.id, places[0], text)


def readable(content: bytes, path: str) -> bytes | None:
    """Return what is read line by line of a file; None where nothing can be."""
    if path.endswith(PACKED):
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(MOST_UNPACKED + 1)
        except (OSError, EOFError, zlib.error):
            return None
        if len(content) > MOST_UNPACKED:
            return None
    return content if b"\0" not in content or path.endswith(WEIGHTS) else None
