"""Lanes that a mask hides from a load without ``other``: they hold anything, here a marked NaN.

The mark is a number of six bits in the NaN, which is kept by arithmetic and by casts down to bf16
and fp16. A NaN that a kernel stores with such a mark came out of that load.
"""

from typing import Any

import numpy as np

MOST = 63  # loads that are told apart; of others such lanes hold 0
# By Triton's name of a float: the bits as numpy has them, a quiet NaN, the place of the mark.
FORMS: dict[str, tuple[Any, int, int]] = {
    "fp16": (np.uint16, 0x7E00, 3),
    "bf16": (np.uint16, 0x7FC0, 0),
    "fp32": (np.uint32, 0x7FC00000, 16),
    "fp64": (np.uint64, 0x7FF8 << 48, 45),
}


class Undefined:
    """The loads of a probe that left lanes undefined, by their lines."""

    def __init__(self) -> None:
        self._lines: list[int] = []

    def mark(self, data: Any, kind: str, hidden: Any, line: int) -> None:
        """Put marked NaNs into the hidden lanes of what a load returns."""
        if kind not in FORMS:
            return
        if line not in self._lines:
            if len(self._lines) == MOST:
                return
            self._lines.append(line)
        bits, quiet, place = FORMS[kind]
        data.view(bits)[hidden] = quiet | ((self._lines.index(line) + 1) << place)

    def keep(self, given: Any, out: Any) -> None:
        """Give each NaN of ``out`` the mark that it had in ``given``."""
        if self._lines and given.dtype == out.dtype and given.dtype.kind == "f":
            nan = np.isnan(given)
            if nan.any():
                np.copyto(out, given, where=nan)

    def line_of(self, values: Any, kind: str) -> tuple[int, int] | None:
        """Return the line of the load that a stored value came from, and how many there are."""
        if kind not in FORMS or not self._lines:
            return None
        if kind != "bf16" and not np.isnan(values).any():
            return None
        bits, quiet, place = FORMS[kind]
        raw = np.ascontiguousarray(values).view(bits)
        marks = (raw & bits(quiet | (MOST << place))).astype(np.uint64)
        mark = np.where(marks >= quiet, (marks >> np.uint64(place)) & np.uint64(MOST), 0)
        found = mark[(mark > 0) & (mark <= len(self._lines))]
        return (self._lines[int(found[0]) - 1], found.size) if found.size else None
