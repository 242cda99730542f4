"""A sign of life in a cell while the judge works: one line, written over each second."""

import time
from typing import Any

from IPython.display import display

from grader.text import visible_line

MOST = 120  # characters


class Waiting:
    """The line of one grading. Where a cell's output cannot be written over, there is none."""

    def __init__(self, shell: Any, what: str) -> None:
        self._what = what
        self._started = time.monotonic()
        # A terminal would show each line below the one before.
        able = getattr(shell, "kernel", None) is not None
        self._line = (
            display(_plain(f"grading {what} …"), raw=True, display_id=True) if able else None
        )

    def tell(self, said: str) -> None:
        """Show for how long it has been going on, and the last line that the judge has said."""
        tasks = said.splitlines()[1:]  # below the line that names the lab
        self._show(f"grading {self._what} … {self._seconds} s", *tasks[-1:])

    def end(self) -> None:
        """Show how long it took."""
        self._show(f"{self._what}: {self._seconds} s")

    @property
    def _seconds(self) -> int:
        return round(time.monotonic() - self._started)

    def _show(self, *parts: str) -> None:
        if self._line is not None:
            text = " · ".join(part.strip() for part in parts)
            self._line.update(_plain(visible_line(text, MOST)), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}
