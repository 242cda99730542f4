"""Comparison within ``tolerance``; messages say what broke, where, and what was expected.

Of a hidden test that is the one value that is most wrong, of a public one all that fits.
"""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import torch
from torch import Tensor

from grader.errors import Mismatch, WrongNumbers
from grader.grammar import agreeing, counted, item, pronoun, singular
from grader.labs.results import Measured
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.kinds import describe, expect, mismatch, of_dtype, of_shape
from grader.proxy.values.shown import both, note_difference, pair, plain
from grader.proxy.values.tolerance import tolerance
from grader.wire.codec import Record
from grader.wire.storage import content

SAFETY = 3.0  # the largest error of a trusted implementation, times this, widens the limits

_MEASURED: ContextVar[list[Measured] | None] = ContextVar("measured", default=None)


@contextmanager
def measuring() -> Generator[list[Measured], None, None]:
    """Collect what comparisons measure inside; messages and reports never show it."""
    found: list[Measured] = []
    token = _MEASURED.set(found)
    try:
        yield found
    finally:
        _MEASURED.reset(token)


def _note(*measured: Measured) -> None:
    """Keep the closest of some readings of one comparison, if anyone collects them."""
    found = _MEASURED.get()
    if found is not None:
        found.append(max(measured, key=lambda item: item.share))


def check(condition: bool, message: str) -> None:
    """Fail the test with the message unless the condition holds."""
    if not condition:
        raise Mismatch(singular(message))


def check_within(error: float, limit: float, message: str, what: str = "the result") -> None:
    """Fail the test with the message if a number is more than its limit, or NaN."""
    _note(Measured(what, "number", error, limit))
    check(error <= limit, message)


def assert_close(
    got: Any,
    want: Tensor,
    case: str,
    *,
    like: Tensor | None = None,
    dtype: torch.dtype | None = None,
    inner: int = 1,
    trusted: Tensor | Sequence[Tensor] = (),
    scale: Tensor | float | None = None,
    off: Tensor | None = None,
    what: str = "the result",
) -> None:
    """Compare a reply with a float64 oracle: type, dtype, shape, finiteness, then the values.

    The dtype must be that of ``like``, or ``dtype``. ``trusted`` is the case computed by one or
    more trusted implementations in the submission's dtype; three times the largest error of any
    widens both limits. ``scale``, a number or a tensor that broadcasts to ``want``, is how large
    the terms are whose sum each value is: where they cancel, limits are relative to it. ``off`` is
    how far each value may honestly be off at this input (``reference/limits/conditions.py``): three
    times it is added to the value's own limit, and three times its norm to that of the whole.
    """
    wanted = dtype or (like.dtype if like is not None else torch.float32)
    _assert_form(got, want, wanted, what)
    x, y = got.double(), want.detach().cpu().double()
    _assert_finite_alike(x, y, what)
    finite = y.isfinite()
    x, y = torch.where(finite, x, 0.0), torch.where(finite, y, 0.0)
    limits = tolerance(case, wanted, inner)
    error, size = (x - y).abs(), _size(y, scale, finite)
    rms, norm = _rms(size), size.norm().item()
    each, whole = _slack(trusted, y, finite)
    if off is not None:
        own = torch.where(finite, off.detach().cpu().double(), 0.0)
        each, whole = each + own, whole + own.norm().item()
    allowed = limits.atol * rms + limits.rtol * size + SAFETY * each
    l2 = limits.l2 + SAFETY * (whole / norm if norm else 0.0)
    relative = error.norm().item() / norm if norm else 0.0
    _note(_closest(error, allowed, rms, what), Measured(what, "whole", relative, l2))
    if bool((error > allowed).any()):
        at = _worst(error, allowed)
        note_difference(x, y, (error / allowed).nan_to_num(0.0, math.inf), at, what)
        raise WrongNumbers(_where(error, allowed, rms, what, at) + both(x, y, at))
    if relative > l2:
        by = f"{relative:.1e} of their size (limit {l2:.1e}): precision is lost on the way"
        text = f"each value of {what} is close, but together they are off by {by}"
        raise WrongNumbers(text + both(x, y, _worst(error, allowed)))


def _size(y: Tensor, scale: Tensor | float | None, finite: Tensor) -> Tensor:
    """Return how large each value is, or the terms whose sum it is; what is not finite counts 0."""
    if scale is None:
        return y.abs()
    terms = torch.as_tensor(scale).detach().cpu().double().abs()
    return torch.where(finite, torch.maximum(y.abs(), terms), 0.0)


def _slack(trusted: Tensor | Sequence[Tensor], y: Tensor, finite: Tensor) -> tuple[float, float]:
    """Return the largest errors of trusted implementations, of one value and L2 of all."""
    each, whole = 0.0, 0.0
    for other in [trusted] if isinstance(trusted, Tensor) else trusted:
        slack = torch.where(finite, (other.detach().cpu().double() - y).abs(), 0.0)
        each = max(each, slack.max().item() if slack.numel() else 0.0)
        whole = max(whole, slack.norm().item())
    return each, whole


def _closest(error: Tensor, allowed: Tensor, rms: float, what: str) -> Measured:
    """Return the value that comes closest to its limit, both in units of the typical size."""
    shares = torch.where(error > 0, error / allowed, 0.0).flatten()
    if not shares.numel():
        return Measured(what, "each", 0.0, 0.0)
    worst, unit = int(shares.argmax()), rms or 1.0
    off, limit = (x.flatten()[worst].item() / unit for x in (error, allowed))
    return Measured(what, "each", off, limit)


def resembles(got: Any, want: Tensor) -> bool:
    """Tell whether a value is a tensor that comes within 5 % of the oracle's."""
    if not isinstance(got, Tensor) or got.shape != want.shape:
        return False
    distance = (got.double() - want.double()).norm()
    return bool(distance < 0.05 * want.double().norm())


def _rms(y: Tensor) -> float:
    return y.square().mean().sqrt().item() if y.numel() else 0.0


def _worst(error: Tensor, allowed: Tensor) -> list[int]:
    return _index(int((error - allowed).argmax()), error)


def _index(place: int, of: Tensor) -> list[int]:
    return [int(i) for i in torch.unravel_index(torch.tensor(place), of.shape)]


def _where(error: Tensor, allowed: Tensor, rms: float, what: str, at: list[int]) -> str:
    bad, size = error > allowed, error[tuple(at)].item()
    scale = f", {size / rms:.1g} times the typical size" if rms else ""
    count, verb = int(bad.sum()), "is" if int(bad.sum()) == 1 else "are"
    off = f"{count} of {error.numel()} values of {what} {verb} off"
    return f"{off}; the largest error is {size:.2g}{scale}, at {at}"


def _assert_form(got: Any, want: Tensor, dtype: torch.dtype, what: str) -> None:
    expect(got, Tensor, what)
    if got.shape != want.shape:
        raise Mismatch(of_shape(got, want.shape, what))
    if got.dtype != dtype:
        raise Mismatch(of_dtype(got, dtype, what))


def _assert_finite_alike(x: Tensor, y: Tensor, what: str) -> None:
    if bool((x.isnan() & ~y.isnan()).any()):
        at = _index(int((x.isnan() & ~y.isnan()).flatten().int().argmax()), x)
        count = f"{int(x.isnan().sum())} of {x.numel()} values"
        text = f"{agreeing(what, 'holds')} NaN in {count}, as at {at}"
        note_difference(x, y, torch.where(x.isnan() & ~y.isnan(), math.inf, 0.0), at, what)
        raise WrongNumbers(text + both(x, y, at))
    same = torch.where(y.isfinite(), x.isfinite(), (x == y) | (x.isnan() & y.isnan()))
    if not bool(same.all()):
        at = _index(int((~same).flatten().int().argmax()), x)
        came, due = (_class_of(values[tuple(at)].item()) for values in (x, y))
        count = f"{int((~same).sum())} of {x.numel()} values"
        it = pronoun(what)
        text = f"{agreeing(what, 'is')} {came} where {it} should be {due}, first at {at} ({count})"
        note_difference(x, y, torch.where(same, 0.0, math.inf), at, what)
        raise WrongNumbers(text + both(x, y, at))


def _class_of(value: float) -> str:
    return "finite" if math.isfinite(value) else "NaN" if math.isnan(value) else f"{value}"


def assert_equal(got: Any, want: Any, what: str = "the result") -> None:
    """Compare exactly: type, dtype, shape and every value, also inside lists, tuples and dicts."""
    problem = _difference(got, want, what)
    if problem:
        raise Mismatch(problem)


def _difference(got: Any, want: Any, what: str) -> str:
    if isinstance(want, Tensor):
        return _tensor_difference(got, want, what)
    if type(got) is not type(want):
        return f"{what} should be {describe(want)}, not {describe(got)}"
    if isinstance(want, list | tuple):
        items = cast(list[Any], want)
        return _sequence_difference(got, items, what)
    if isinstance(want, Record):
        if got.name != want.name:
            return f"{what} should be {describe(want)}, not {describe(got)}"
        return _difference(got.fields, want.fields, what)
    if isinstance(want, dict):
        wanted = cast(dict[str, Any], want)
        if set(got) != set(wanted):
            return f"{agreeing(what, 'has')} the keys {plain([*got])}, expected {plain([*wanted])}"
        problems = (_difference(got[key], wanted[key], f"{key} of {what}") for key in wanted)
        return next((problem for problem in problems if problem), "")
    same = got == want or (got != got and want != want)
    return "" if same else f"{agreeing(what, 'is')} {plain(got)}, expected {plain(want)}"


def _sequence_difference(got: Any, want: list[Any], what: str) -> str:
    """Say where two lists part; short plain ones are shown beside each other."""
    pairs = enumerate(zip(got, want, strict=False))
    problems = (_difference(x, y, item(index, what)) for index, (x, y) in pairs)
    problem = next((problem for problem in problems if problem), "")
    if len(got) != len(want):
        held = counted(len(got), "value")
        lengths = f"{agreeing(what, 'holds')} {held}, expected {len(want)}"
        problem = f"{lengths}; {problem or 'as far as they go they agree'}"
    is_plain = all(isinstance(item, str | int | float | list | tuple) for item in want)
    beside = pair(got, want) if problem and is_plain else ""
    # The lists as wholes say more than the item of theirs that differs.
    return problem.partition("\n")[0] + beside if beside else problem


def _tensor_difference(got: Any, want: Tensor, what: str) -> str:
    problem = mismatch(got, Tensor, what)
    if problem:
        return problem
    if got.shape != want.shape:
        return of_shape(got, want.shape, what)
    if got.dtype != want.dtype:
        return of_dtype(got, want.dtype, what)
    same = (got == want) | ((got != got) & (want != want))
    if bool(same.all()):
        return ""
    first = [int(i) for i in (~same).nonzero()[0]]
    note_difference(got, want, torch.where(same, 0.0, math.inf), first, what)
    count, beside = int((~same).sum()), both(got, want, first)
    verb, the = ("is", "") if count == 1 else ("are", " the first")
    return f"{count} of {want.numel()} values of {what} {verb} wrong,{the} at {first}{beside}"


def assert_new(watched: Watched, what: str = "an argument") -> None:
    """Fail if writing over a result (``student.overwritten``) has changed an argument."""
    check(_is_as_sent(watched), f"the result should be new, but it shares memory with {what}")


def assert_unmodified(watched: Watched, what: str = "an argument") -> None:
    """Fail if a value, or any byte of a tensor's storage, differs from what was sent."""
    beside = ", or memory beside it" if isinstance(watched.value, Tensor) else ""
    check(_is_as_sent(watched), f"{agreeing(what, 'was')} modified{beside}")


def assert_written(watched: Watched, want: Tensor, what: str = "an argument") -> None:
    """Fail unless a tensor that was to be written in place holds ``want``, and what lies beside it.

    ``want`` is a view of a storage like the one that was sent, of which every byte is compared.
    """
    right = content(want)
    # What the worker says, and where its memory is mapped what we have read there.
    for held in (watched.after, right if watched.seen is None else watched.seen):
        if not _difference(held, right, "it"):
            continue
        if not isinstance(held, Tensor) or held.numel() != right.numel():
            raise Mismatch(f"{agreeing(what, 'lies')} in other memory than before the call")
        check(False, _first_odd(held, want, what))


def _first_odd(held: Tensor, want: Tensor, what: str) -> str:
    """Say which place of a view is the first to differ, and how, if it is not beside the view."""
    flat = held.contiguous().view(want.dtype)
    got = flat.as_strided(want.shape, want.stride(), want.storage_offset())
    odd = ((got != want) & ~(got.isnan() & want.isnan())).nonzero().tolist()
    if not odd:
        return f"memory beside {what} was written"
    told = f"after the call {agreeing(what, 'holds')} {counted(len(odd), 'wrong number')}"
    return f"{told}, first at {odd[0]}{both(got, want, odd[0])}"


def _is_as_sent(watched: Watched) -> bool:
    """Tell whether an argument is what it was, by what we see of it and by what the worker says.

    The worker alone knows of one that was given other memory.
    """
    return not (watched.changed or _difference(watched.after, content(watched.value), "it"))
