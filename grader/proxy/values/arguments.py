"""How the arguments of a call are shown to a student when a test fails.

In a public test as one could type them; of a hidden one what kind of inputs they were: forms,
lengths and what an object can do, but no number that a container holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import torch
from torch import Tensor

from grader.proxy.loans.loans import Loan
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.shown import MOST_VALUES, NUMBERS, form, numbers, plain, revealed
from grader.proxy.values.values import Far, Hidden
from grader.wire.codec import Record

MOST_NAMED = 4  # items of a container of a hidden test
MOST_FIELDS = 6  # of a configuration, and tensors of a dictionary


def argument(value: Any, names: Mapping[int, str]) -> str:
    """Return an argument of a call; ``names`` are those of objects of the submission."""
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, torch.Generator):
        seed = value.initial_seed() if revealed() else "…"
        return f"torch.Generator().manual_seed({seed})"
    if isinstance(value, Loan):
        return _lent(value)
    if isinstance(value, Record):
        return _record(value, names)
    if isinstance(value, str):
        fits = revealed() or (value.isidentifier() and len(value) < 25)
        return plain(value) if fits else f"str of {len(value)}"
    if isinstance(value, dict):
        return _dictionary(cast(dict[Any, Any], value), names)
    if isinstance(value, list | tuple | set | frozenset):
        return _collection(cast(list[Any], value), names)
    if isinstance(value, NUMBERS):
        return plain(value)
    if isinstance(value, torch.dtype | torch.device):
        return repr(value)
    number = getattr(value, "number_", None)
    if number is not None:
        return names.get(number, value.kind_)
    strides = getattr(value, "strides", None)
    if strides is not None:  # of elements that lie far apart
        return f"{form(value.value)} with strides {list(strides)}"
    inside = getattr(value, "value", None)  # of an argument that is watched
    return argument(inside, names) if inside is not None else type(value).__name__


def _tensor(value: Tensor) -> str:
    if not revealed() or value.numel() > MOST_VALUES:
        return form(value)
    usual = value.dtype in (torch.float32, torch.int64, torch.bool)
    dtype = "" if usual else f", dtype={value.dtype}"
    return f"torch.tensor({numbers(value)}{dtype})"


def _lent(lent: Loan) -> str:
    """Name a function of the test, or say what an object of it can do."""
    target = lent.target
    while isinstance(target, Loan):
        target = target.target
    name = getattr(target, "__name__", "").strip("_")
    if name.isidentifier():
        return name
    can = [f"{method}()" for method in lent.methods if method != "__call__"]
    has = ", ".join([*can, *lent.attributes])
    kind = "callable" if "__call__" in lent.methods else "object"
    if revealed():
        kind = f"{kind} {type(target).__name__.strip('_')}"
    return f"<{kind} of the test{f': {has}' if has else ''}>"


def _record(value: Record, names: Mapping[int, str]) -> str:
    if len(value.fields) > MOST_FIELDS:
        return f"{value.name}(…)"
    fields = (f"{key}={argument(item, names)}" for key, item in value.fields.items())
    return f"{value.name}({', '.join(fields)})"


def _dictionary(value: dict[Any, Any], names: Mapping[int, str]) -> str:
    weights = len(value) > MOST_FIELDS and all(_kind(x) is Tensor for x in value.values())
    if not revealed() or weights:
        keys, items = _kinds([*value]), _kinds([*value.values()])
        return f"dict of {len(value)}: {keys} to {items}" if value else "{}"
    items = [f"{plain(key)}: {argument(item, names)}" for key, item in [*value.items()][:4]]
    more = [f"… {len(value) - 4} more"] if len(value) > 4 else []
    return f"{{{', '.join([*items, *more])}}}"


def _collection(value: Any, names: Mapping[int, str]) -> str:
    ends = {list: "[]", tuple: "()"}.get(type(value), "{}")
    items = list(cast(Iterable[Any], value))
    most = MOST_VALUES if revealed() or isinstance(value, tuple) else MOST_NAMED
    if most == MOST_NAMED and items:
        if all(isinstance(item, (*NUMBERS, str)) for item in items):
            kind = "list" if isinstance(value, list) else "set"
            return f"{kind} of {len(items)} {_kinds(items)}"
        if all(isinstance(item, list) for item in items):
            return _lists(items)
    shown = [argument(item, names) for item in items[:most]]
    more = [f"… {len(items)} in all"] if len(items) > most else []
    comma = "," if isinstance(value, tuple) and len(items) == 1 else ""
    return f"{ends[0]}{', '.join([*shown, *more])}{comma}{ends[1]}"


def _lists(lists: list[list[Any]]) -> str:
    """Say how long the lists of a list are, and what they hold."""
    sizes = [len(items) for items in lists]
    held = _kinds([item for items in lists for item in items])
    several = "list" if len(lists) == 1 else "lists"
    if not any(sizes):
        return f"list of {len(lists)} empty {several}"
    size = f"{min(sizes)} to {max(sizes)}" if len(sizes) > MOST_NAMED else _and(sizes)
    size = size if len({*sizes}) > 1 else str(sizes[0])
    return f"list of {len(lists)} {several} of {size} {held}"


def _and(sizes: list[int]) -> str:
    *first, last = map(str, sizes)
    return f"{', '.join(first)} and {last}" if first else last


def _kinds(items: list[Any]) -> str:
    """Name the kinds of items, in the plural if there are several."""
    words: dict[type, str] = {str: "string", type(None): "None"}
    kinds = dict.fromkeys(map(_kind, items))
    ending = "" if len(items) == 1 else "s"
    return " or ".join(f"{words.get(kind, kind.__name__.lower())}{ending}" for kind in kinds)


def _kind(item: Any) -> type:
    """Return the kind of an item: a tensor is one however it is passed, watched or hidden."""
    passed = isinstance(item, Hidden | Far | Watched)
    inside = item.value if passed else item
    return Tensor if isinstance(inside, Tensor) else type(inside)
