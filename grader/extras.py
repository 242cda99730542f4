"""Packages that only some commands need: a missing one is a line and a hint, no traceback."""

from collections.abc import Generator
from contextlib import contextmanager

from grader.errors import UsageError

OURS = frozenset({"grader", "bench", "labs", "reference"})


@contextmanager
def needs(extra: str) -> Generator[None]:
    """Around imports: name the extra of ``pyproject.toml`` that brings what is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] in OURS:
            raise
        hint = f"pip install -e '.[{extra}]'"
        raise UsageError(f'this needs the extra "{extra}"', hint) from None
