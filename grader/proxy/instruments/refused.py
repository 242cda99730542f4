"""Kernels that no GPU takes, and how a student reads of them."""

from collections.abc import Iterable, Sequence

from grader.labs.compiled import Compiled

SHOWN = 3
INTRODUCTION = "the interpreter runs these kernels, and no GPU would (docs/compile.md)"


def told(refused: Iterable[Compiled], lines: Sequence[str]) -> str:
    """Return a message that shows the first kernels, each at its line, with the targets."""
    places: dict[tuple[int, str], dict[str, None]] = {}
    for made in refused:
        places.setdefault((made.line, made.error), {})[made.target] = None
    shown = [INTRODUCTION]
    for (line, error), targets in [*places.items()][:SHOWN]:
        source = "".join(lines[line - 1 : line]).strip()[:200]
        shown.append(f"  line {line}: {source}".rstrip(": "))
        shown.append(f"    {error} ({', '.join(targets)})")
    if len(places) > SHOWN:
        shown.append(f"  and {len(places) - SHOWN} more like these")
    return "\n".join(shown)
