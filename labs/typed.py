"""What the user types: one prompt of the command line, or lines of standard input."""

import itertools
import sys
from collections.abc import Iterator

from labs.decoding import Unfit

WHAT = 'type how a line of Python begins, such as "def main(", and press Enter'


def prompts(given: str | None) -> Iterator[str]:
    """Return the texts to continue; ``Unfit`` if standard input has none, before anything starts.

    A terminal is told what to type, and told again at an empty line.
    """
    if given is not None:
        return iter([given])
    if sys.stdin.isatty():
        return _asked()
    lines = (text for line in sys.stdin if (text := line.rstrip("\n")))
    first = next(lines, None)
    if first is None:
        raise Unfit(f'nothing was typed\nhint: {WHAT}, or make chat PROMPT="def main("')
    return itertools.chain([first], lines)


def _asked() -> Iterator[str]:
    said = f"{WHAT}; Ctrl-D ends"
    print(said, file=sys.stderr)
    for line in sys.stdin:
        if text := line.rstrip("\n"):
            yield text
        else:
            print(said, file=sys.stderr)
