"""Comparison: each message, the tolerance table, and that no message shows an expected value."""

import math
import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.errors import Mismatch
from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.compare import (
    assert_close,
    assert_equal,
    assert_new,
    assert_unmodified,
    check,
    check_within,
    measuring,
    resembles,
)
from grader.proxy.values.kinds import describe, expect
from grader.proxy.values.shown import apart, revealing
from grader.proxy.values.tolerance import CASES, tolerance
from grader.proxy.values.values import Proxy
from grader.wire.codec import Record

PROXY = Proxy(None, 1, "Box", [])  # type: ignore[arg-type]


def message(function: Any, *args: Any, **kwargs: Any) -> str:
    """Return what the student reads."""
    with pytest.raises(Mismatch) as caught:
        function(*args, **kwargs)
    return str(caught.value)


# -- expect -----------------------------------------------------------------------------------

GOOD: list[tuple[Any, Any]] = [
    (torch.ones(2), Tensor),
    (1, int),
    (1.0, float),
    ("a", str),
    (True, bool),
    (PROXY, Proxy),
    (Record("Config"), Record),
    ([], list),
    ([1, "a"], list),
    ([], list[int]),
    ([1, 2], list[int]),
    ([[1], []], list[list[int]]),
    ((torch.ones(1), torch.ones(2)), tuple[Tensor, Tensor]),
    ((1, 2, 3), tuple[int, ...]),
    ((), tuple[int, ...]),
    (([1], 0.5), tuple[list[int], float]),
    (None, int | None),
    (3, int | None),
    ({"a": 1}, dict),
]


@pytest.mark.parametrize(("value", "kind"), GOOD, ids=str)
def test_expect_returns_what_fits(value: Any, kind: Any) -> None:
    assert expect(value, kind) is value


BAD: list[tuple[Any, Any, str]] = [
    (True, int, "the result should be an int, not a bool"),
    (1, bool, "the result should be a bool, not an int"),
    (1, float, "the result should be a float, not an int"),
    (1.0, int, "the result should be an int, not a float"),
    (None, Tensor, "the result should be a tensor, not None"),
    ([1.0], Tensor, "the result should be a tensor, not a list"),
    (PROXY, Tensor, "the result should be a tensor, not a Box"),
    (
        torch.ones(2, 3),
        Proxy,
        "the result should be an object, not a float32 tensor of shape [2, 3]",
    ),
    (Record("Config"), Proxy, "the result should be an object, not a Config"),
    ((1, 2), list[int], "the result should be a list of ints, not a tuple"),
    ([1, True], list[int], "item 1 of the result should be an int, not a bool"),
    (
        [[1], [2, None]],
        list[list[int]],
        "[1][1] of the result should be an int, not None",
    ),
    ((torch.ones(1),), tuple[Tensor, Tensor], "the result should hold 2 values, not 1"),
    (
        (torch.ones(1), 2),
        tuple[Tensor, Tensor],
        "item 1 of the result should be a tensor",
    ),
    ((1, "a"), tuple[int, ...], "item 1 of the result should be an int, not a str"),
    ("a", int | None, "the result should be an int or None, not a str"),
    (None, tuple[Tensor, Tensor], "the result should be a tuple of 2 tensors, not None"),
]


@pytest.mark.parametrize(("value", "kind", "text"), BAD, ids=[text[:60] for _, _, text in BAD])
def test_expect_says_what_it_got(value: Any, kind: Any, text: str) -> None:
    assert message(expect, value, kind).startswith(text)


def test_expect_names_the_thing() -> None:
    assert message(expect, 1, str, "the name") == "the name should be a str, not an int"


def test_expect_holds_a_tensor_to_a_shape() -> None:
    value = torch.zeros(2, 3)
    assert expect(value, Tensor, shape=(2, 3)) is value

    assert message(expect, value, Tensor, "o", shape=[2]) == "o has shape [2, 3], expected [2]"
    assert message(expect, 1, Tensor, "o", shape=[2]).startswith("o should be a tensor")


def test_check_shows_its_message() -> None:
    check(True, "never")
    assert message(check, False, "two steps took three calls") == "two steps took three calls"


# -- assert_close -----------------------------------------------------------------------------

Y = torch.linspace(-2.0, 3.0, 30, dtype=torch.float64).reshape(5, 6)


def test_exact_and_rounded_values_pass() -> None:
    assert_close(Y.float(), Y, "elementwise", like=Y.float())
    assert_close(Y.half(), Y, "elementwise", dtype=torch.float16)
    assert_close(Y.bfloat16(), Y, "backward", dtype=torch.bfloat16)
    assert_close(torch.ones(()), torch.ones((), dtype=torch.float64), "elementwise")
    assert_close(torch.ones(0, 3), torch.ones(0, 3, dtype=torch.float64), "elementwise")


@pytest.mark.parametrize(
    ("got", "text"),
    [
        (None, "the result should be a tensor, not None"),
        (PROXY, "the result should be a tensor, not a Box"),
        (Y.float().flatten(), "the result has shape [30], expected [5, 6]"),
        (Y.float().T, "the result has shape [6, 5], expected [5, 6]"),
        (Y, "the result has dtype float64, expected float32"),
        (Y.half(), "the result has dtype float16, expected float32"),
        (Y.to(torch.complex64), "the result has dtype complex64, expected float32"),
        (Y.long(), "the result has dtype int64, expected float32"),
        (Y.float() * math.nan, "the result holds NaN in 30 of 30 values, as at [0, 0]"),
        (
            Y.float() / 0,
            "the result is -inf where it should be finite, first at [0, 0] (30 of 30 values)",
        ),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)
def test_form_comes_before_values(got: Any, text: str) -> None:
    assert message(assert_close, got, Y, "elementwise", like=Y.float()).startswith(text)


def test_worst_error_is_told_with_its_place() -> None:
    got = Y.float()
    got[1, 2] += 0.001
    got[3, 4] -= 0.5

    text = message(assert_close, got, Y, "elementwise", like=got, what="the mean")

    assert text.startswith("2 of 30 values of the mean are off; the largest error is 0.5, ")
    place, there = text.splitlines()
    assert place.endswith("at [3, 4]")
    assert there == f"  there: got {got[3, 4]:.6g}, expected {Y[3, 4]:.6g}"


def test_public_test_shows_what_came_and_what_was_expected() -> None:
    got, want = torch.tensor([1.0, 2.0, 4.0]), torch.tensor([1.0, 2.0, 3.0]).double()

    with revealing(True):
        text = message(assert_close, got, want, "elementwise")

    assert text.splitlines()[1:] == [
        "  got       [1.0, 2.0, 4.0]",
        "  expected  [1.0, 2.0, 3.0]",
    ]


def test_public_test_shows_a_long_row_around_the_worst_place() -> None:
    want = torch.arange(40.0).reshape(2, 20)
    got = want.clone()
    got[1, 18] = 0

    with revealing(True):
        text = message(assert_equal, got, want)

    assert text.splitlines()[1:] == [
        "  [1, 14:20]: got [34.0, 35.0, 36.0, 37.0, 0.0, 39.0]",
        "  [1, 14:20]: expected [34.0, 35.0, 36.0, 37.0, 38.0, 39.0]",
    ]


def test_public_test_shows_two_lists_beside_each_other() -> None:
    with revealing(True):
        text = message(assert_equal, [4, 1, 7], [4, 1], "the tokens")

    assert text.splitlines() == [
        "the tokens hold 3 values, expected 2; as far as they go they agree",
        "  got       [4, 1, 7]",
        "  expected  [4, 1]",
    ]


def test_scalar_that_is_off_has_a_place() -> None:
    text = message(assert_close, torch.ones(()), torch.zeros((), dtype=torch.float64), "matmul")

    assert text.splitlines() == [
        "1 of 1 values of the result is off; the largest error is 1, at []",
        "  there: got 1.0, expected 0.0",
    ]


def test_many_small_errors_are_too_much_together() -> None:
    got = Y.float() * (1 + 8e-6)

    text = message(assert_close, got, Y, "elementwise", like=got)

    assert re.fullmatch(
        r"each value of the result is close, but together they are off by [\d.e-]+ of their size "
        r"\(limit 1\.0e-06\): precision is lost on the way\n  there: got .*, expected .*",
        text,
    )


@pytest.mark.parametrize("wrong", [0.0, 1.0, -math.inf, math.nan])
def test_infinity_must_be_the_same(wrong: float) -> None:
    want = Y.clone()
    want[2, 3] = math.inf
    assert_close(want.float(), want, "elementwise")
    got = want.float()
    got[2, 3] = wrong

    message(assert_close, got, want, "elementwise")


def test_expected_nan_must_be_nan() -> None:
    want = Y.clone()
    want[2, 3] = math.nan
    assert_close(want.float(), want, "elementwise")

    text = message(assert_close, Y.float(), want, "elementwise")

    where, there = text.splitlines()
    assert where == "the result is finite where it should be NaN, first at [2, 3] (1 of 30 values)"
    assert there.endswith("expected nan")


def test_other_values_count_beside_an_infinity() -> None:
    want = Y.clone()
    want[0, 0] = math.inf
    got = want.float()
    got[4, 5] += 0.1

    assert "at [4, 5]" in message(assert_close, got, want, "elementwise")


def test_low_precision_passed_off_as_float32_fails() -> None:
    got = Y.half().float()

    message(assert_close, got, Y, "elementwise", like=got)
    message(assert_close, Y.bfloat16().float(), Y, "matmul", inner=4096)


def test_trusted_error_widens_both_limits() -> None:
    noise = torch.full_like(Y, 1e-4)
    trusted = (Y + noise).float()

    message(assert_close, trusted, Y, "elementwise")
    assert_close(trusted, Y, "elementwise", trusted=trusted)
    assert_close((Y + 2.9 * noise).float(), Y, "elementwise", trusted=trusted)
    message(assert_close, (Y + 4 * noise).float(), Y, "elementwise", trusted=trusted)


@pytest.mark.parametrize("order", [1, -1])
def test_worst_of_several_trusted_implementations_widens(order: int) -> None:
    noise = torch.full_like(Y, 1e-4)
    trusted = [(Y + factor * noise).float() for factor in (0.01, 1.0)][::order]

    assert_close((Y + 2.9 * noise).float(), Y, "elementwise", trusted=trusted)
    message(assert_close, (Y + 4 * noise).float(), Y, "elementwise", trusted=trusted)


def test_what_cancels_is_measured_by_what_was_added() -> None:
    want = torch.tensor([1e-4, -2e-4], dtype=torch.float64)
    got = (want + 1e-6).float()

    message(assert_close, got, want, "elementwise")
    assert_close(got, want, "elementwise", scale=10.0)
    assert_close(got, want, "elementwise", scale=torch.tensor([10.0, 20.0]))
    message(assert_close, got, want, "elementwise", scale=1e-2)


def test_scale_never_makes_a_limit_tighter() -> None:
    got = (Y * (1 + 5e-7)).float()

    assert_close(got, Y, "elementwise", scale=0.0)


def test_infinite_values_have_no_scale() -> None:
    want = torch.tensor([math.inf, 1.0], dtype=torch.float64)

    message(assert_close, torch.tensor([math.inf, 1.1]), want, "elementwise", scale=1.0)


# -- what is measured -------------------------------------------------------------------------


def test_each_comparison_notes_what_is_closest_to_its_limit() -> None:
    with measuring() as found:
        assert_close((Y * (1 + 5e-7)).float(), Y, "elementwise", what="y")
        message(assert_close, Y.float() + 1.0, Y, "elementwise")
        assert_close(Y.float(), Y, "matmul")

    first, second, third = found
    assert (first.what, first.by) == ("y", "whole")
    assert first.limit == pytest.approx(1e-6)
    assert first.share == pytest.approx(0.5, abs=0.1)
    assert second.share > 1e4
    assert third.share < 0.1


def test_a_single_value_may_be_closer_than_the_whole() -> None:
    got = Y.clone()
    got[2, 3] += 1.0

    with measuring() as found:
        message(assert_close, got.bfloat16(), Y, "elementwise", dtype=torch.bfloat16)

    assert found[0].by == "each"


def test_a_number_is_measured_too() -> None:
    with measuring() as found:
        check_within(2.0, 4.0, "too much", "a count")
        assert message(check_within, 5.0, 4.0, "too much") == "too much"
        message(check_within, math.nan, 4.0, "too much")

    assert [item.share for item in found[:2]] == [0.5, 1.25]
    assert (found[0].what, found[0].by) == ("a count", "number")


def test_nothing_is_kept_where_nobody_asks() -> None:
    with measuring() as found:
        pass
    assert_close(Y.float(), Y, "elementwise")

    assert found == []


def test_empty_tensors_come_close_to_nothing() -> None:
    with measuring() as found:
        assert_close(torch.zeros(0, 3), torch.zeros(0, 3).double(), "elementwise")

    assert found[0].share == 0.0


def test_exact_trusted_implementation_widens_nothing() -> None:
    message(assert_close, Y.float() + 1e-3, Y, "elementwise", trusted=Y)


@pytest.mark.parametrize(
    ("case", "dtype", "inner", "limits"),
    [
        ("elementwise", torch.float32, 1, (1e-5, 1e-5, 1e-6)),
        ("elementwise", torch.float32, 4096, (1e-5, 1e-5, 2e-6)),
        ("matmul", torch.float32, 1, (1e-5, 1e-4, 1e-6)),
        ("matmul", torch.float32, 1024, (1e-5, 1e-4, 2e-6)),
        ("matmul", torch.float32, 4096, (2e-5, 1e-4, 4e-6)),
        ("elementwise", torch.float16, 9, (2e-3, 2e-3, 1e-3)),
        ("matmul", torch.bfloat16, 9, (1.6e-2, 1.6e-2, 6e-3)),
        ("attention", torch.float16, 9, (3e-3, 2e-3, 1.5e-3)),
        ("attention", torch.bfloat16, 9, (2e-2, 1.6e-2, 8e-3)),
        ("backward", torch.bfloat16, 9, (3e-2, 3e-2, 1.5e-2)),
        ("model", torch.bfloat16, 9, (5e-1, 5e-1, 1e-1)),
    ],
)
def test_tolerance_table(
    case: str, dtype: torch.dtype, inner: int, limits: tuple[float, float, float]
) -> None:
    row = tolerance(case, dtype, inner)

    assert (row.atol, row.rtol, row.l2) == pytest.approx(limits)


def test_unknown_case_is_our_own_mistake() -> None:
    with pytest.raises(ValueError, match="unknown case"):
        tolerance("about", torch.float32, 1)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12),
    st.sampled_from(CASES),
    st.floats(0.0, 1.0),
)
@settings(deadline=None)
def test_error_message_shows_two_digits_at_most(
    values: list[float], case: str, factor: float
) -> None:
    """The error of a reply of zeros is the expected value itself: it may not be readable."""
    want = torch.tensor(values, dtype=torch.float64) + 0.123456789
    text = ""
    try:
        assert_close((want * factor).float() * 0, want, case)
    except Mismatch as mismatch:
        said, found, text = str(mismatch).partition("largest error")
        assert found, said

    numbers = re.findall(r"\d[\d.]*(?:e[+-]?\d+)?", text)
    digits = [re.sub(r"e.*|\.|^0[.0]*", "", number).strip("0") for number in numbers[:2]]
    assert all(len(kept) <= 2 for kept in digits), text


# -- assert_equal -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "want", "text"),
    [
        (1, 2, "the result is 1, expected 2"),
        (True, 1, "the result should be an int, not a bool"),
        (1, True, "the result should be a bool, not an int"),
        ("a", "b", "the result is 'a', expected 'b'"),
        (None, 0, "the result should be an int, not None"),
        ([1], (1,), "the result should be a tuple, not a list"),
        ([1, 2], [1, 2, 3], "the result holds 2 values, expected 3; as far as they go they agree"),
        ([1, 5, 3], [1, 2, 3], "item 1 of the result is 5, expected 2"),
        ([[1], [2]], [[1], [3]], "[1][0] of the result is 2, expected 3"),
        ({"a": 1}, {"b": 1}, "the result has the keys ['a'], expected ['b']"),
        ({"a": 1}, {"a": 2}, "a of the result is 1, expected 2"),
        (torch.ones(2).half(), torch.ones(2), "the result has dtype float16, expected float32"),
        (torch.ones(2, 1), torch.ones(2), "the result has shape [2, 1], expected [2]"),
        ([1.0, 1.0], torch.ones(2), "the result should be a tensor, not a list"),
        (
            torch.ones(2),
            [1.0, 1.0],
            "the result should be a list, not a float32 tensor of shape [2]",
        ),
        (PROXY, 4, "the result should be an int, not a Box"),
        (torch.float16, torch.float32, "the result is float16, expected float32"),
        (
            torch.tensor([[0, 1], [7, 3]]),
            torch.tensor([[0, 1], [2, 4]]),
            "2 of 4 values of the result are wrong, the first at [1, 0]\n"
            "  there: got 7, expected 2",
        ),
        (
            Record("Tree", {"x": 1}),
            Record("Leaf", {"x": 1}),
            "the result should be a Leaf, not a Tree",
        ),
        (Record("Tree", {"x": 1}), Record("Tree", {"x": 2}), "x of the result is 1, expected 2"),
        (
            Record("Tree", {"x": torch.ones(3)}),
            Record("Tree", {"x": 2}),
            "x of the result should be an int, not a float32 tensor of shape [3]",
        ),
        (
            Record("Tree", {"x": 1, "y": 1}),
            Record("Tree", {"x": 1}),
            "the result has the keys ['x', 'y'], expected ['x']",
        ),
    ],
    ids=str,
)
def test_difference_is_told_in_words(got: Any, want: Any, text: str) -> None:
    assert message(assert_equal, got, want) == text


EVERYTHING: dict[str, Any] = {
    "a": [1, 2.5, math.nan, "x", None, True, (1, (2,))],
    "b": torch.tensor([1.0, math.nan, math.inf]),
    "c": Record("Config", {"ids": (1, 2), "rope": None, "weight": torch.ones(2)}),
    "d": torch.zeros(0, 4),
    "e": torch.tensor([True, False]),
    "f": torch.bfloat16,
}


def test_equal_values_pass() -> None:
    copy = {**EVERYTHING, "b": EVERYTHING["b"].clone(), "a": [*EVERYTHING["a"]]}

    assert_equal(copy, EVERYTHING)


@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.uint16, torch.uint32, torch.int8, torch.float8_e4m3fn, torch.float8_e5m2],
    ids=str,
)
def test_packed_dtypes_can_be_compared(dtype: torch.dtype) -> None:
    want = torch.tensor([0, 1, 5, 7], dtype=torch.uint8).view(torch.uint8).to(dtype)
    got = want.clone()
    assert_equal(got, want)
    got.view(torch.uint8)[0] = 56

    assert "1 of 4 values of the result is wrong, at [0]" in message(assert_equal, got, want)


numbers = st.one_of(st.integers(), st.floats(), st.text(max_size=5), st.none(), st.booleans())
trees = st.recursive(numbers, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


@given(trees, trees, st.booleans())
@settings(deadline=None)
def test_message_of_any_difference_is_short(got: Any, want: Any, public: bool) -> None:
    """Whatever differs, the message is a Mismatch of a few lines."""
    told = ""
    try:
        with revealing(public):
            assert_equal(got, want)
    except Mismatch as mismatch:
        told = str(mismatch)

    assert len(told) < 20_000


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=9), st.integers(1, 5))
@settings(deadline=None)
def test_hidden_test_tells_one_value_of_a_tensor(values: list[int], step: int) -> None:
    got = torch.tensor(values)
    want = got.clone()
    want[::step] += 100

    one = message(assert_equal, got, want)
    want[step::step] += 31

    assert message(assert_equal, got, want) == one
    assert one.endswith(f"there: got {values[0]}, expected {values[0] + 100}")


# -- the rest ---------------------------------------------------------------------------------


def test_values_are_described_without_their_content() -> None:
    assert describe([1, 2]) == "a list"
    assert describe(5) == "an int"
    assert describe(torch.zeros(3, dtype=torch.bool)) == "a bool tensor of shape [3]"


def test_unmodified_means_every_byte_of_the_storage() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    watched = Watched(base[:, 1:3])
    raw = torch.empty(0, dtype=torch.uint8).set_(base.untyped_storage())

    watched.after = raw.clone()
    assert_unmodified(watched)
    watched.after = raw.clone()
    watched.after[0] ^= 1  # beside the view
    assert message(assert_unmodified, watched, "x") == "x was modified, or memory beside it"
    for lie in (None, raw[:-1].clone(), raw.float(), [1]):
        watched.after = lie  # type: ignore[assignment]
        message(assert_unmodified, watched)
    watched.after, watched.changed = raw.clone(), True  # whatever the worker says
    for check_of in (assert_unmodified, assert_new):
        message(check_of, watched)


def test_what_resembles_the_oracle() -> None:
    want = torch.tensor([3.0, -4.0]).double()

    assert resembles(want.bfloat16() * 1.04, want)
    for other in (want * 1.06, want * torch.nan, want[:1], torch.zeros(2), None, [3.0, -4.0]):
        assert not resembles(other, want)


@pytest.mark.parametrize(
    ("got", "want", "shown"),
    [
        (1.0, 1.25, ("1.0", "1.25")),
        (0.00862315, 0.008623152, ("0.00862315", "0.008623152")),
        (float("nan"), 2.0, ("nan", "2.0")),
        (7, 7, ("7", "7")),
        ([1.0, 0.1], [1.0, 0.1000000001], ("[1.0, 0.1]", "[1.0, 0.1000000001]")),
    ],
)
def test_numbers_that_look_equal_are_shown_whole(
    got: Any, want: Any, shown: tuple[str, str]
) -> None:
    wide = torch.int64 if isinstance(got, int) else torch.float64
    assert apart(torch.tensor(got, dtype=wide), torch.tensor(want, dtype=wide)) == shown
