"""What kind of value a submission returned, and whether it is the kind that a test expects."""

import types
from collections.abc import Sequence
from typing import Any, get_args, get_origin

import torch
from torch import Tensor

from grader.errors import Mismatch, SubmissionFault
from grader.grammar import agreeing, item
from grader.proxy.values.shown import MOST_TEXT, plain, short
from grader.proxy.values.values import Proxy
from grader.text import clip
from grader.wire.codec import Record


def expect(
    value: Any, kind: Any, what: str = "the result", *, shape: Sequence[int] | None = None
) -> Any:
    """Return ``value`` if it is a ``kind``, else fail; types are exact, so True is no int.

    With ``shape`` a tensor must have that shape too, so that a test can index what it got.
    """
    problem = mismatch(value, kind, what)
    if not problem and shape is not None and list(value.shape) != list(shape):
        problem = of_shape(value, shape, what)
    if problem:
        raise Mismatch(problem)
    return value


def of_shape(got: Tensor, shape: Sequence[int], what: str) -> str:
    """Say that a tensor has another shape."""
    return f"{agreeing(what, 'has')} shape {list(got.shape)}, expected {list(shape)}"


def of_dtype(got: Tensor, dtype: torch.dtype, what: str) -> str:
    """Say that a tensor has another dtype."""
    return f"{agreeing(what, 'has')} dtype {short(got.dtype)}, expected {short(dtype)}"


def mismatch(value: Any, kind: Any, what: str) -> str:
    """Say how a value is not of a kind, or return an empty string."""
    origin, args = get_origin(kind), get_args(kind)
    if isinstance(kind, types.UnionType):
        fits = any(not mismatch(value, option, what) for option in args)
        return "" if fits else f"{what} should be {_name(kind)}, not {describe(value)}"
    wanted = origin or kind
    right = isinstance(value, wanted) if wanted in (Tensor, Proxy) else type(value) is wanted
    if not right:
        return f"{what} should be {_name(kind)}, not {describe(value)}"
    if origin is list:
        return _first_mismatch(value, [args[0]] * len(value), what)
    if origin is tuple:
        if args[-1] is Ellipsis:
            return _first_mismatch(value, [args[0]] * len(value), what)
        if len(value) != len(args):
            return f"{what} should hold {len(args)} values, not {len(value)}"
        return _first_mismatch(value, list(args), what)
    return ""


def _first_mismatch(values: Any, kinds: list[Any], what: str) -> str:
    problems = (
        mismatch(value, kind, item(index, what))
        for index, (value, kind) in enumerate(zip(values, kinds, strict=True))
    )
    return next((problem for problem in problems if problem), "")


def _name(kind: Any) -> str:
    names = {Tensor: "a tensor", Proxy: "an object", int: "an int", type(None): "None"}
    if kind in names:
        return names[kind]
    if isinstance(kind, types.UnionType):
        return " or ".join(_name(option) for option in get_args(kind))
    args = get_args(kind)
    if get_origin(kind) is list:
        return f"a list of {_several(args[0])}"
    if get_origin(kind) is tuple and args[-1] is Ellipsis:
        return f"a tuple of {_several(args[0])}"
    if get_origin(kind) is tuple:
        alike = len({*args}) == 1 < len(args)
        inside = f"{len(args)} {_several(args[0])}" if alike else " and ".join(map(_name, args))
        return f"a tuple of {inside}"
    if get_origin(kind):
        return str(kind).replace("torch.Tensor", "Tensor")
    return _with_article(kind.__name__)


def _several(kind: Any) -> str:
    """Name values of a kind: ints, lists of tensors."""
    first, *rest = _name(kind).removeprefix("an ").removeprefix("a ").split(" of ")
    return " of ".join([f"{first}s", *rest])


def describe(value: Any) -> str:
    """Return a value's kind in words, without its content."""
    if value is None:
        return "None"
    if isinstance(value, Tensor):
        return f"{_with_article(short(value.dtype))} tensor of shape {list(value.shape)}"
    if isinstance(value, Proxy):
        return _with_article(value.kind_)
    if isinstance(value, Record):
        return _with_article(value.name)
    return _with_article(type(value).__name__)


def said(value: Any) -> str:
    """Return what came in words: its kind, and plain content as it is."""
    if isinstance(value, SubmissionFault):
        return clip(f"an exception, {value}".partition("\n")[0], MOST_TEXT)
    shown = value is not None and isinstance(value, bool | int | float | str | list | tuple)
    return f"{describe(value)}, {plain(value, depth=1)}" if shown else describe(value)


def _with_article(name: str) -> str:
    """Put the article before a name: an int, but a uint8."""
    return f"{'an' if name[:1].lower() in tuple('aeio') else 'a'} {name}"
