"""How values are shown to a student when a test fails: whole in a public test, else where wrong."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import torch
from torch import Tensor

from grader.text import clip

MOST_VALUES = 16  # of a tensor or list that is shown whole
NEAR = 4  # values on each side of the one that is wrong
MOST_TEXT = 80
MOST_WHOLE = 10**18
MOST_SIDE = 8  # rows, and columns, of a difference that a report shows
_DIFFERENCES: ContextVar[list[dict[str, Any]] | None] = ContextVar("differences", default=None)
_REVEALED: ContextVar[bool] = ContextVar("revealed", default=False)
NUMBERS = (bool, int, float, complex, type(None))


@contextmanager
def revealing(revealed: bool) -> Generator[None, None, None]:
    """Show values whole inside, or only where they are wrong."""
    token = _REVEALED.set(revealed)
    try:
        yield
    finally:
        _REVEALED.reset(token)


def revealed() -> bool:
    """Whether values may be shown whole."""
    return _REVEALED.get()


def short(dtype: torch.dtype) -> str:
    """Return a dtype's name as it is written after ``torch.``."""
    return str(dtype).removeprefix("torch.")


def form(tensor: Tensor) -> str:
    """Return dtype and shape, and strides where they are not what the shape says."""
    text = f"{short(tensor.dtype)}{list(tensor.shape)}"
    return text if tensor.is_contiguous() else f"{text} with strides {list(tensor.stride())}"


def plain(value: Any, depth: int = 2) -> str:
    """Return a number, short text or list of them as it is, for a message that says what came."""
    if isinstance(value, float):
        text = f"{value:.6g}"
        return f"{text}.0" if text.lstrip("-").isdigit() else text
    if isinstance(value, int) and abs(value) >= MOST_WHOLE:
        return f"an int of {value.bit_length()} bits"
    if isinstance(value, str):
        return repr(clip(value, MOST_TEXT))
    if isinstance(value, list | tuple):
        return _sequence(cast(list[Any], value), depth) if depth else "…"
    if isinstance(value, torch.dtype):
        return short(value)
    return clip(repr(value), MOST_TEXT) if isinstance(value, NUMBERS) else "…"


def numbers(values: Tensor) -> str:
    """Return the values of a tensor as nested lists of short numbers."""
    return _nested(values.detach().cpu().tolist())


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(_nested(item) for item in cast(list[Any], values))}]"
    return repr(values) if isinstance(values, complex) else plain(values)


def apart(got: Tensor, want: Tensor) -> tuple[str, str]:
    """Return the values of two tensors, with all their digits where fewer would look equal."""
    came, due = numbers(got), numbers(want)
    whole, wanted = got.detach().cpu().tolist(), want.detach().cpu().tolist()
    return (repr(whole), repr(wanted)) if came == due and whole != wanted else (came, due)


def both(got: Tensor, want: Tensor, at: list[int]) -> str:
    """Return what came beside what was expected: all of it, or around the place ``at``."""
    if revealed() and want.numel() <= MOST_VALUES:
        came, due = apart(got, want)
        return f"\n  got       {came}\n  expected  {due}"
    place = tuple(at)
    if not revealed() or not at:
        came, due = apart(got[place], want[place])
        return f"\n  there: got {came}, expected {due}"
    *row, column = at
    first = max(0, column - NEAR)
    last = min(want.shape[-1], column + NEAR + 1)
    line = (*row, slice(first, last))
    shown = f"[{', '.join(map(str, [*row, f'{first}:{last}']))}]"
    came, due = apart(got[line], want[line])
    return f"\n  {shown}: got {came}\n  {shown}: expected {due}"


@contextmanager
def differing() -> Generator[list[dict[str, Any]], None, None]:
    """Collect, for the report, where tensors differ inside; nothing where values are not shown."""
    found: list[dict[str, Any]] = []
    token = _DIFFERENCES.set(found)
    try:
        yield found
    finally:
        _DIFFERENCES.reset(token)


def note_difference(got: Tensor, want: Tensor, off: Tensor, at: list[int], what: str) -> None:
    """Keep the values around the place ``at`` beside what was expected, if that may be shown.

    ``off`` tells of each value how far it is off, as a multiple of what is allowed: 0 is equal.
    """
    found = _DIFFERENCES.get()
    if found is None or not revealed() or not want.ndim:
        return
    *outer, row, column = [0, *at] if want.ndim == 1 else at
    rows, columns = (1, *want.shape)[-2:]
    wide = MOST_SIDE if rows > 1 else MOST_VALUES
    top = min(max(0, row - MOST_SIDE // 2), max(0, rows - MOST_SIDE))
    left = min(max(0, column - wide // 2), max(0, columns - wide))
    place = (*outer, slice(top, top + MOST_SIDE), slice(left, left + wide))
    came, due, far = (
        x.detach().cpu().reshape(-1, columns) if x.ndim == 1 else x.detach().cpu()
        for x in (got, want, off)
    )
    text = [[plain(value) for value in line] for line in came[place].tolist()]
    wanted = [[plain(value) for value in line] for line in due[place].tolist()]
    entry = {"what": what, "shape": [*want.shape], "outer": outer, "top": top, "left": left}
    found[:] = [{**entry, "got": text, "expected": wanted, "off": _levels(far[place])}]


def _levels(off: Tensor) -> list[list[int]]:
    """Return 0 for what is allowed, 1 up to ten times that, 2 up to a hundred, 3 for more."""
    return [
        [0 if far <= 1 else 1 if far <= 10 else 2 if far <= 100 else 3 for far in line]
        for line in off.double().tolist()
    ]


def pair(got: Any, want: Any) -> str:
    """Return two plain lists beside each other where they may be shown whole, else nothing."""
    if not revealed() or max(len(got), len(want)) > MOST_VALUES:
        return ""
    return f"\n  got       {plain(got)}\n  expected  {plain(want)}"


def _sequence(value: list[Any] | tuple[Any, ...], depth: int) -> str:
    items = [plain(item, depth - 1) for item in value[: 2 * MOST_VALUES]]
    more = [f"… {len(value)} in all"] if len(value) > 2 * MOST_VALUES else []
    inside = ", ".join([*items, *more])
    return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
