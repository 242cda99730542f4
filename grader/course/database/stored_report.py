"""A report as the database holds it: compressed, and read when somebody asks for what it says."""

import json
import re
import zlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import cast

from grader.errors import StoreError

LARGEST_REPORT = 256 << 20  # bytes, unpacked; the database may come from a backup of anyone's


class StoredReport(Mapping[str, object]):
    """A report that stays compressed until it is read: a class of them would fill the memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __getitem__(self, key: str) -> object:
        return self._decoded()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._decoded())

    def __len__(self) -> int:
        return len(self._decoded())

    def may_say(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether the text of the JSON fits a pattern, which is told without reading it."""
        return pattern.search(_unpacked(self._data)) is not None

    def _decoded(self) -> dict[str, object]:
        return _read(self._data)


@lru_cache(maxsize=1)
def _read(data: bytes) -> dict[str, object]:
    """Read a report; whoever asks for one key asks for others of the same one next."""
    try:
        return cast(dict[str, object], dict(json.loads(_unpacked(data))))
    except (ValueError, TypeError, RecursionError):
        raise _damaged() from None


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, LARGEST_REPORT)
    except zlib.error:
        raise _damaged() from None
    if unpacker.unconsumed_tail or not unpacker.eof:  # cut off, or too large
        raise _damaged()
    return text


def _damaged() -> StoreError:
    told = "a report in the course database is damaged"
    return StoreError(told, "restore the course from a backup")
