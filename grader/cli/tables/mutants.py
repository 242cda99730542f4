"""The table of ``lab check --mutants``: what became of the mutants of each lab."""

from collections.abc import Sequence

from grader.prove.findings import Tried
from grader.text import visible


def print_mutants(tried: Sequence[Tried]) -> None:
    """Print one line a lab, and one for all of them if there are several."""
    print(f"{'mutants':>7} {'tried':>6} {'killed':>6} {'equal':>6} {'left':>5} {'idle':>5}")
    for item in tried:
        _print(item)
    if len(tried) > 1:
        sums = (
            sum(getattr(item, name) for item in tried)
            for name in ("mutants", "killed", "equal", "left", "idle")
        )
        _print(Tried("all labs", *sums))


def _print(item: Tried) -> None:
    numbers = f"{item.mutants:7} {item.tried:6} {item.killed:6} {item.equal:6} {item.left:5}"
    print(visible(f"{numbers} {item.idle:5}  {item.lab}"))
