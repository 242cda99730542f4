"""Whether bytes lie anywhere in the memory of a process: in what of it is there at all."""

import mmap
import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

AT_ONCE = 2048  # pages
PRESENT, SWAPPED = 1 << 63, 1 << 62  # of an entry of the kernel's map of pages
HEADER = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r")


def holds(pid: int, pattern: bytes) -> list[str]:
    """Return the mappings of a process in which a pattern lies."""
    with (
        open(f"/proc/{pid}/mem", "rb", buffering=0) as memory,
        open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pages,
    ):
        return [
            name
            for name, start, end in _touched(pid)
            if any(
                pattern in data for data in _present(memory.fileno(), pages.fileno(), start, end)
            )
        ]


def _touched(pid: int) -> Iterator[tuple[str, int, int]]:
    """Yield the mappings that can be read and of which something is in memory."""
    header = ""
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if HEADER.match(line):
            header = line
        elif line.startswith("Rss:") and header and not line.split()[1] == "0":
            match = HEADER.match(header)
            assert match is not None
            yield header, int(match[1], 16), int(match[2], 16)
            header = ""


def _present(memory: int, pages: int, start: int, end: int) -> Iterator[bytes]:
    """Yield what is there between two addresses, each piece with the end of the one before."""
    size, rest = mmap.PAGESIZE, b""
    for first in range(start // size, end // size, AT_ONCE):
        count = min(AT_ONCE, end // size - first)
        entries = np.frombuffer(os.pread(pages, 8 * count, 8 * first), np.uint64)
        if not (entries & np.uint64(PRESENT | SWAPPED)).any():
            rest = b""
            continue
        try:
            data = os.pread(memory, count * size, first * size)
        except OSError:  # the kernel's own pages
            continue
        yield rest + data
        rest = data[-64:]
