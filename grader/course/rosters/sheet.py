"""A CSV file as some program of some country wrote it: its encoding, its delimiter, its rows."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.course.grading.collecting.roster import MAX_BYTES
from grader.errors import UsageError
from grader.text import visible_line

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
HINT = "export it again as CSV UTF-8"
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file's rows with their numbers as spreadsheets count them, the header being row 1."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]  # cells without blanks around them
    encoding: str  # as people call it
    delimiter: str

    @property
    def written(self) -> str:
        """How the file is written, in words."""
        return f"{self.encoding} with {DELIMITERS[self.delimiter]}"


def read_sheet(file: Path) -> Sheet:
    """Read a CSV file; raises UsageError if it cannot be read, or has a quote left open."""
    name = visible_line(file.name, 80)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{visible_line(str(file))} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name} is larger than {MAX_BYTES >> 20} MiB")
    if data.startswith(b"PK\x03\x04"):
        raise UsageError(f"{name} is a spreadsheet or an archive, no CSV", HINT)
    text, encoding = _decode(name, data)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    first = 1
    delimiter = _delimiter(text.partition("\n")[0])
    if text[:4].casefold() == "sep=":  # a line by which Excel says what separates cells
        said, _, text = text.partition("\n")
        delimiter, first = said[4:5] if said[4:5] in DELIMITERS else delimiter, 2
    if "\0" in text:
        raise UsageError(f"{name} holds zero bytes", HINT)
    rows = _rows(name, text, delimiter, first)
    header = rows[0][1] if rows else ()
    return Sheet(header, tuple(rows[1:]), encoding, delimiter)


def _decode(name: str, data: bytes) -> tuple[str, str]:
    encoding = next((said for mark, said in _MARKS if data.startswith(mark)), "")
    if not encoding and b"\0" in data[:2]:
        encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        if encoding.startswith("utf-16"):
            return data.decode(encoding).lstrip("\ufeff"), "UTF-16"
        return data.decode("utf-8-sig"), "UTF-8"
    except UnicodeDecodeError as error:
        if encoding:
            told = f"{name} begins as {encoding.upper()[:6]} and goes on as something else"
            raise UsageError(f"{told} (byte {error.start + 1})", HINT) from None
    try:
        return data.decode("cp1252"), "Latin-1"  # which Windows means by it
    except UnicodeDecodeError:
        return data.decode("latin-1"), "Latin-1"


def _delimiter(line: str) -> str:
    """Return what separates the cells of a header: what stands in it most outside of quotes."""
    plain = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=plain.count)


def _rows(name: str, text: str, delimiter: str, row: int) -> list[tuple[int, tuple[str, ...]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: list[tuple[int, tuple[str, ...]]] = []
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return found
        except csv.Error as error:
            raise UsageError(f"{name}, row {row}: {error}", "is a quote left open?") from None
        if any(cell.strip() for cell in cells):
            found.append((row, _plain(cells)))
        row += 1


def _plain(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(cell.split()) for cell in cells)  # a quoted cell may hold a line break
