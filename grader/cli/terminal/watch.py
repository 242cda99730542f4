"""Noticing that a file was saved, by polling: it works on every file system, with no package."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

POLL_SECONDS = 0.5

Stamp = tuple[int, int, int]  # inode, size, modification time in nanoseconds


def saves(
    files: Iterable[Path], pause: Callable[[], None] = lambda: time.sleep(POLL_SECONDS)
) -> Iterator[tuple[Path, ...]]:
    """Yield the files that changed since the last look, for ever; a first look yields nothing.

    An editor may replace a file or write it in steps: a change counts once two looks agree.
    """
    watched = tuple(files)
    known = _stamps(watched)
    before = known
    while True:
        pause()
        now = _stamps(watched)
        if now == before and now != known:
            changed = tuple(path for path in watched if now[path] != known[path])
            known = now
            yield changed
        before = now


def _stamps(files: Iterable[Path]) -> dict[Path, Stamp | None]:
    return {path: _stamp(path) for path in files}


def _stamp(path: Path) -> Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None  # being replaced, or deleted
    return status.st_ino, status.st_size, status.st_mtime_ns
