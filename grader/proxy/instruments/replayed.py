"""Graphs that a submission is lent, and what became of them.

On a CPU the device captures, replays and counts them; what the submission's process says of them
counts nothing. On a GPU they are CUDA's, and which of them are replayed is not told: values say it,
and the clock.
"""

from collections.abc import Callable
from typing import Any

from grader.proxy.instruments.readings import Apart
from grader.proxy.loans.loans import Loan
from grader.proxy.values.kinds import expect
from grader.proxy.values.values import Proxy


class Graphs:
    """The graphs of one test."""

    def __init__(
        self, make: Callable[[int], Any], seen: Callable[[], dict[str, Any]] | None = None
    ) -> None:
        """``make`` makes the one of a number; ``seen`` asks the device, where there is one."""
        self._make = make
        self._seen = seen
        self.made = 0
        self.argument = Loan(self._make_graph, ("__call__",), (), keep=True)

    def _make_graph(self) -> Proxy:
        self.made += 1
        return expect(self._make(self.made), Proxy, "a graph")

    @property
    def captured(self) -> int:
        """How many have been captured; on a GPU, how many were made."""
        return self.made if self._seen is None else len(self._seen()["captured"])

    @property
    def replayed(self) -> list[int] | None:
        """The numbers of those that have been replayed, in order; None on a GPU."""
        return None if self._seen is None else self._seen()["replayed"]


def beside_replays(apart: Apart) -> str:
    """Say what was asked for beside graphs, and is not done there."""
    undone = [note for note in apart.notes if note not in apart.left]
    said = [f"left undone outside of replays: {', '.join(undone)}"] if undone else []
    return "; ".join([*said, *([f"read as noise: {', '.join(apart.left)}"] if apart.left else [])])
