"""Hidden suite of lab 07. Sizes are small enough for Triton's interpreter; a GPU adds long ones."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    NotGraded,
    Race,
    assert_close,
    assert_from_kernels,
    assert_kernels_alone_compute,
    assert_new,
    assert_unmodified,
    check,
    expect,
    task,
)
from reference import attention as oracle
from reference.limits import conditions, honest

Pair = tuple[Tensor, Tensor]
Qkv = tuple[Tensor, Tensor, Tensor]
LOW = [torch.float16, torch.bfloat16]

both = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])


# --- merge -----------------------------------------------------------------------------------


def partial(draw: Any, *shape: int, dtype: torch.dtype = torch.float32, far: float = 2.0) -> Pair:
    """Draw a result [..., T, D] and its log-sum-exp."""
    return draw.normal(*shape, dtype=dtype), draw.normal(*shape[:-1], scale=far)


def empty_rows(part: Pair, rows: Tensor) -> Pair:
    """Make the rows those of an attention that saw no key."""
    o, lse = part
    return o.masked_fill(rows[..., None], 0.0), lse.masked_fill(rows, -math.inf)


def assert_merged(student: Any, *parts: Pair, exact: Pair | None = None) -> None:
    """Merge the parts from left to right and compare with all of them joined at once."""
    (o, lse), *others = parts
    for other in others:
        o, lse = expect(student.merge(o, lse, *other), Pair)
    want_o, want_lse = exact or oracle.combine(list(parts))
    assert_close(lse, want_lse, "elementwise", dtype=torch.float32, scale=1.0, what="lse")
    like, off = parts[0][0], conditions.merge_off(parts)
    assert_close(o, want_o, "attention", like=like, inner=1024, off=off, what="o")


@task("merge", contract=1, gate=True)
@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (4, 6), (1, 1, 1)], ids=str)
def test_two_parts_are_weighed_by_their_sums(student, draw, shape):
    """merge weighs each side by exp(lse_i - lse), and lse is the log-sum-exp of both."""
    assert_merged(student, partial(draw, *shape), partial(draw, *shape))


@task("merge", contract=2, gate=True)
def test_halves_of_the_keys_make_the_whole(student, draw):
    """Attention over the first keys, merged with attention over the others, is attention to all."""
    q, k, v = (draw.normal(3, 2, n, 5) for n in (7, 11, 11))
    parts = [
        tuple(x.float() for x in oracle.attend(q, k[:, :, keys], v[:, :, keys]))
        for keys in (slice(0, 4), slice(4, None))
    ]

    assert_merged(student, *parts, exact=oracle.attend(q, k, v))


@task("merge", contract=3)
@pytest.mark.parametrize("level", [1e6, -1e6, 1e4, -1e4], ids=lambda x: f"lse near {x:g}")
def test_large_lse_neither_overflow_nor_vanish(student, draw, level):
    """Only differences of lse matter: exp of an lse itself would overflow or vanish."""
    (o1, lse1), (o2, lse2) = partial(draw, 3, 5, 4), partial(draw, 3, 5, 4)

    assert_merged(student, (o1, lse1 + level), (o2, lse2 + level))


@task("merge", contract=3)
def test_sides_of_very_different_weight(student, draw):
    """Where one lse is hundreds larger than the other, its side alone remains."""
    (o1, lse1), (o2, lse2) = partial(draw, 2, 6, 3), partial(draw, 2, 6, 3)
    sign = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])

    assert_merged(student, (o1, lse1 + 400 * sign), (o2, lse2 - 400 * sign))


@task("merge", contract=4)
@pytest.mark.parametrize("side", ["left", "right", "some of each"])
def test_a_side_that_saw_nothing_changes_nothing(student, draw, side):
    """A row with lse -inf on one side is the other side's row; it gives no NaN."""
    rows = torch.rand(3, 7, generator=draw.generator) < 0.5
    rows[:, 0], rows[:, 1] = True, False
    left, right = partial(draw, 3, 7, 4), partial(draw, 3, 7, 4)

    if side != "right":
        left = empty_rows(left, rows)
    if side != "left":
        right = empty_rows(right, ~rows if side == "some of each" else rows)
    assert_merged(student, left, right)


@task("merge", contract=5)
def test_two_sides_that_saw_nothing_stay_empty(student, draw):
    """A row with lse -inf on both sides has the result 0 and the lse -inf."""
    rows = torch.tensor([True, False, True, False, False])
    other = torch.tensor([True, True, False, False, False])

    assert_merged(
        student, empty_rows(partial(draw, 5, 3), rows), empty_rows(partial(draw, 5, 3), other)
    )


@task("merge", contract=2)
@pytest.mark.parametrize("reverse", [False, True], ids=["in order", "in reverse"])
def test_many_parts_merge_to_the_whole(student, draw, reverse):
    """Parts of unequal length, one of them empty, merge one by one to attention to all keys."""
    q, k, v = (draw.normal(2, 3, n, 6, scale=2.0) for n in (5, 23, 23))
    cuts = [0, 1, 9, 9, 20, 23]
    parts = [
        tuple(x.float() for x in oracle.attend(q, k[:, :, a:b], v[:, :, a:b]))
        for a, b in itertools.pairwise(cuts)
    ]

    assert_merged(student, *parts[:: -1 if reverse else 1], exact=oracle.attend(q, k, v))


@task("merge", contract=7)
@pytest.mark.parametrize("level", [0.0, 3000.0], ids=lambda x: f"lse near {x:g}")
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_low_precision_results_keep_a_float32_lse(student, draw, dtype, level):
    """lse and the weights are float32 whatever the dtype of o1 and o2 is."""
    (o1, lse1), (o2, lse2) = (partial(draw, 3, 5, 8, dtype=dtype) for _ in range(2))

    assert_merged(student, (o1, lse1 + level), (o2, lse2 + level))


@task("merge", contract=7)
@pytest.mark.parametrize("wide", [False, True], ids=["one dtype", "a wider second side"])
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_low_precision_results_are_merged_in_float32(student, draw, dtype, wide):
    """Where the sides nearly cancel, a weight or a side that was rounded to o1's dtype shows."""
    o1, lse1 = partial(draw, 3, 5, 8, dtype=dtype)
    lse2 = lse1 + 0.3 * draw.normal(3, 5)  # neither side outweighs the other
    o1 = o1 + 100
    against = (lse1.double() - lse2.double()).exp()[..., None] * o1.double()
    o2 = (0.3 * draw.normal(3, 5, 8) - against).to(torch.float32 if wide else dtype)

    assert_merged(student, (o1, lse1), (o2, lse2))


@task("merge", contract=6)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_merged_result_has_the_dtype_of_the_first(student, draw, dtype):
    """The sides may differ in dtype: o has that of o1, also where one saw nothing at all."""
    first, second = partial(draw, 3, 5, 8, dtype=dtype), partial(draw, 3, 5, 8)
    every = torch.ones(3, 5, dtype=torch.bool)

    assert_merged(student, first, second)
    assert_merged(student, second, first)
    assert_merged(student, empty_rows(first, every), second)
    assert_merged(student, first, empty_rows(second, every))
    assert_merged(student, second, empty_rows(first, every))


@task("merge", contract=9)
def test_merged_results_outlive_the_next_call(student, draw):
    """Each result is a tensor of its own: another call, of the same shape, leaves it as it is."""
    parts = [(partial(draw, 3, 5, 4), partial(draw, 3, 5, 4)) for _ in range(3)]

    got = expect(student.together("merge", *((*a, *b) for a, b in parts)), list[Pair])

    for (o, lse), both_sides in zip(got, parts, strict=True):
        want_o, want_lse = oracle.combine(list(both_sides))
        assert_close(lse, want_lse, "elementwise", scale=1.0, what="lse")
        off = conditions.merge_off(both_sides)
        assert_close(o, want_o, "attention", inner=1024, off=off, what="o")


def scattered(draw: Any) -> tuple[Pair, Pair]:
    """Draw two sides [2, 4, 5, 5] that are views of one tensor, each with strides of its own."""
    base = draw.normal(2, 5, 4, 12)
    o1, o2 = base[..., 1:6].transpose(1, 2), base[..., 2::2].transpose(1, 2)
    return (o1, base[..., 0].mT), (o2[..., :5], base[..., 7].mT)


@task("merge", contract=8)
def test_merge_takes_views(student, draw):
    """The arguments may be views of something larger: transposed, strided, expanded."""
    left, right = scattered(draw)

    assert_merged(student, left, right)
    assert_merged(student, (left[0][:1].expand(2, 4, 5, 5), left[1]), right)
    assert_merged(student, left, (right[0], right[1][:, :1].expand(2, 4, 5)))


@task("merge", contract=9)
def test_merge_leaves_its_arguments_alone(student, draw):
    """No argument is modified, nor what lies beside it in memory."""
    for sides in (scattered(draw), (partial(draw, 3, 5, 4), partial(draw, 3, 5, 4))):
        watched = [student.watch(x) for side in sides for x in side]

        expect(student.merge(*watched), Pair)

        for argument, name in zip(watched, MERGED, strict=True):
            assert_unmodified(argument, name)


MERGED = "o1", "lse1", "o2", "lse2"


@task("merge", contract=9)
@pytest.mark.parametrize("side", ["neither", "left", "right", "both"])
def test_merged_results_are_new(student, draw, side):
    """Results share no memory with an argument, also where a side, or both, saw nothing at all."""
    left, right = partial(draw, 3, 5, 4), partial(draw, 3, 5, 4)
    every = torch.ones(3, 5, dtype=torch.bool)
    left = empty_rows(left, every) if side in ("left", "both") else left
    right = empty_rows(right, every) if side in ("right", "both") else right
    watched = [student.watch(x) for x in (*left, *right)]

    expect(student.overwritten("merge", *watched), Pair)

    for argument, name in zip(watched, MERGED, strict=True):
        assert_new(argument, name)


# --- what tiled and triton share -------------------------------------------------------------


def make(
    draw: Any,
    T: int,
    S: int,
    D: int = 16,
    H: int = 1,
    G: int = 1,
    B: int = 2,
    dtype: torch.dtype = torch.float32,
) -> Qkv:
    """Draw q [B, H, T, D], k and v [B, G, S, D]."""
    q = draw.normal(B, H, T, D, dtype=dtype)
    return q, draw.normal(B, G, S, D, dtype=dtype), draw.normal(B, G, S, D, dtype=dtype)


def assert_attends(
    attention: Callable[..., Any],
    qkv: Qkv,
    causal: bool = False,
    scale: float | None = None,
    *,
    excused: bool = True,
    **options: Any,
) -> None:
    """Call an attention and compare o and lse with the oracle's.

    Unless it is not to be ``excused``, what naive attention in the same dtype is off is.
    """
    q, k, v = qkv
    if scale is not None:
        options["scale"] = scale
    got = expect(attention(q, k, v, causal=causal, **options), Pair)
    assert_result(got, qkv, causal, scale, excused=excused)


def assert_result(
    got: Pair,
    qkv: Qkv,
    causal: bool,
    scale: float | None = None,
    *,
    excused: bool = True,
    block: int = 0,
) -> None:
    """Compare o and lse with the oracle's; with a ``block``, tiles may hold so few keys."""
    q, k, v = qkv
    o, lse = oracle.attend(q, k, v, causal, scale)
    off_o, off_lse = off(q, k, v, causal, scale)
    trusted = [oracle.attend_in_kind(q, k, v, causal, scale)] if excused else []
    if q.dtype == torch.float32:
        trusted = honest.attentions(q, k, v, causal, scale, tile=block)
    wide_o, wide_lse = ([way[index] for way in trusted] for index in (0, 1))
    inner = max(k.shape[2], 1024)
    what = dict(case="attention", inner=inner)
    # An lse near 0 is the logarithm of a number near 1, and known as well as that.
    how = dict(dtype=torch.float32, trusted=wide_lse, scale=1.0, off=off_lse, what="lse")
    assert_close(got[1], lse, **what, **how)
    assert_close(got[0], o, **what, like=q, trusted=wide_o, off=off_o, what="o")


def off(q: Tensor, k: Tensor, v: Tensor, causal: bool, scale: float | None = None) -> Pair:
    """Return how far o and lse may be off with float32 on the way."""
    seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)
    seen = seen.tril(k.shape[2] - q.shape[2]) if causal else seen
    return conditions.attention_off(q, k, v, seen, scale)


def sizes(*values: tuple[int, int, int, int, int]) -> Any:
    """Parametrize T, S, D, H, G, each with and without the causal mask."""

    def decorate(test: Any) -> Any:
        return both(pytest.mark.parametrize(("T", "S", "D", "H", "G"), values)(test))

    return decorate


def inside_nan(x: Tensor, *, last_axis_step: int = 1) -> Tensor:
    """Copy a tensor [B, H, N, D] into a larger one of NaN: a view as [B, N, H, D] projections give.

    Whatever is read beside it, before it or behind it, is NaN.
    """
    B, H, N, D = x.shape
    base = x.new_full((B + 2, N + 3, H + 2, (D + 5) * last_axis_step), math.nan)
    view = base[1 : B + 1, 2 : N + 2, 1 : H + 1, 3 : 3 + D * last_axis_step : last_axis_step]
    view.copy_(x.transpose(1, 2))
    return view.transpose(1, 2)


def assert_left_alone(student: Any, name: str, *cases: Qkv) -> None:
    """Look at every byte of the arguments' storages after a call, and after its result is gone."""
    for qkv in cases:
        watched = [student.watch(x) for x in qkv]
        expect(getattr(student, name)(*watched), Pair)
        for argument, letter in zip(watched, "qkv", strict=True):
            assert_unmodified(argument, letter)
        expect(student.overwritten(name, *watched), Pair)
        for argument, letter in zip(watched, "qkv", strict=True):
            assert_new(argument, letter)


def around(draw: Any, level: float, T: int, S: int, D: int = 16) -> Qkv:
    """Draw q, k, v whose scores lie around a level, a few units apart, at a scale of 1."""
    q, k, v = make(draw, T, S, D, B=1)
    q[..., 0], k[..., 0] = 100.0, level / 100.0
    return q, k, v


def ramp(draw: Any, T: int, S: int, step: float) -> Qkv:
    """Draw q, k, v whose scores rise (or fall) from key to key by ``step``, at a scale of 1."""
    q, k, v = make(draw, T, S, B=1)
    q[..., 0], k[..., 0] = 1.0, torch.arange(S) * step
    return q, k, v


def grains(draw: Any, dtype: torch.dtype) -> Qkv:
    """Draw q, k, v where the first key outweighs a tile of 64 others, but not all 1000 of them.

    A sum in ``dtype`` that holds its weight, or its value, does not notice what a tile adds.
    """
    q, k, v = make(draw, 3, 1001, B=1)
    score, others = (11, -3) if dtype == torch.bfloat16 else (12, -1)
    q, v = q * 0.1, v * 0.1 + others
    q[..., 0], k[..., 0], k[:, :, 0] = 1.0, 0.0, 0.0
    k[:, :, 0, 0], v[:, :, 0] = 4.0 * score, 1.5
    return q.to(dtype), k.to(dtype), v.to(dtype)


def balanced(draw: Any, dtype: torch.dtype) -> Qkv:
    """Draw q, k, v of equal scores, whose values cancel but for those of a few keys.

    What is left is less than the last bit, in ``dtype``, of what a part of the keys gives.
    """
    q, k, v = make(draw, 3, 2048, B=1)
    sign = oracle.signs_that_cancel(draw.generator, *v.shape[2:])
    return q.to(dtype), (k * 0).to(dtype), torch.where(sign == 0, v, 64 * sign).to(dtype)


# --- tiled -----------------------------------------------------------------------------------


@task("tiled", contract=10, gate=True)
@sizes((7, 13, 5, 2, 2), (13, 7, 16, 4, 2), (21, 21, 8, 3, 1))
def test_tiled_attention_is_attention(student, draw, T, S, D, H, G, causal):
    """flash_attention_torch returns softmax(q k / sqrt(D)) v and each row's log-sum-exp."""
    assert_attends(student.flash_attention_torch, make(draw, T, S, D, H, G, B=3), causal, block=8)


@task("tiled", contract=11)
@sizes(
    *[(1, 1, 64, 2, 2), (1, 197, 16, 4, 2), (63, 64, 80, 2, 1), (64, 65, 16, 3, 3)],
    *[(65, 64, 33, 6, 2), (197, 197, 16, 1, 1), (197, 63, 16, 2, 2), (65, 197, 128, 1, 1)],
)
def test_tiled_attention_of_all_sizes(student, draw, T, S, D, H, G, causal):
    """T and S are any numbers, multiples of the block or not; the default block is 64."""
    assert_attends(student.flash_attention_torch, make(draw, T, S, D, H, G), causal)


@task("tiled", contract=11)
@pytest.mark.parametrize(("B", "T"), [(0, 5), (2, 0)], ids=["no sequences", "no queries"])
def test_tiled_attention_from_nothing(student, draw, B, T):
    """With B = 0 or T = 0 the results are empty."""
    for causal in (False, True):
        assert_attends(student.flash_attention_torch, make(draw, T, 7, B=B), causal, block=3)


FEW = [*itertools.product((0, 1, 2), repeat=2)]  # queries and keys


@task("tiled", contract=11)
@both
def test_tiled_few_queries_and_keys_in_every_combination(student, draw, causal):
    """T and S may be 0, 1 and 2 in every combination, of no, one and two sequences."""
    for (T, S), B in itertools.product(FEW, (0, 1, 2)):
        assert_attends(student.flash_attention_torch, make(draw, T, S, 3, 2, 1, B), causal)


@task("tiled", contract=12)
@both
@pytest.mark.parametrize("block", [1, 3, 7, 16, 1000])
@pytest.mark.parametrize(("T", "S"), [(13, 29), (29, 13)])
def test_any_block_gives_the_same(student, draw, T, S, block, causal):
    """The result does not depend on block, which may be 1 or larger than S."""
    assert_attends(student.flash_attention_torch, make(draw, T, S, 6), causal, block=block)


@task("tiled", contract=13)
@pytest.mark.parametrize(("T", "S"), [(5, 5), (40, 17), (17, 40), (33, 34), (34, 33), (1, 20)])
def test_tiled_causal_rows_end_at_their_own_key(student, draw, T, S):
    """The last query sees the last key, the one before it one key less, in every tile."""
    for block in (5, 16):
        assert_attends(student.flash_attention_torch, make(draw, T, S, 3, B=1), True, block=block)


@task("tiled", contract=15)
@pytest.mark.parametrize(("H", "G"), [(6, 1), (6, 2), (6, 3), (6, 6)])
def test_tiled_heads_read_their_key_head(student, draw, H, G):
    """Query head h reads key head h // (H / G): neighbours share."""
    assert_attends(student.flash_attention_torch, make(draw, 9, 20, 5, H, G), block=8)


@task("tiled", contract=14)
@pytest.mark.parametrize(("T", "S"), [(29, 5), (5, 0), (70, 1)])
def test_tiled_rows_without_a_key_are_zero(student, draw, T, S):
    """A row that sees no key has the result 0 and the lse -inf, never NaN."""
    for causal in (True, False):
        assert_attends(student.flash_attention_torch, make(draw, T, S, B=3), causal, block=8)


@task("tiled", contract=16)
@pytest.mark.parametrize("level", [1e6, -1e6, 1e4, -1e4], ids=lambda x: f"scores near {x:g}")
def test_tiled_scores_of_any_level(student, draw, level):
    """A level that all scores share cancels: exp is taken of differences alone."""
    q, k, v = around(draw, level, 11, 37)

    assert_attends(student.flash_attention_torch, (q * 4, k, v), True, None, excused=False, block=8)


@task("tiled", contract=17)
@pytest.mark.parametrize("step", [4.0, -4.0, 40_000.0, -40_000.0], ids=lambda x: f"step {x:g}")
def test_tiled_maximum_may_change_in_every_tile(student, draw, step):
    """A new maximum shrinks the sum and the result so far; an old one shrinks what is new."""
    q, k, v = ramp(draw, 6, 50, step)

    assert_attends(student.flash_attention_torch, (q * 4, k, v), excused=False, block=8)


@task("tiled", contract=18)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_tiled_low_precision(student, draw, dtype):
    """o has the dtype of q and lse is float32; nothing on the way is rounded to less."""
    for causal in (False, True):
        qkv = make(draw, 40, 65, 64, 4, 2, dtype=dtype)
        assert_attends(student.flash_attention_torch, qkv, causal, block=16)


@task("tiled", contract=18)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_tiled_sums_are_kept_in_float32(student, draw, dtype):
    """Hundreds of small tiles add up in float32; in less, the sum would stop growing."""
    assert_attends(student.flash_attention_torch, grains(draw, dtype), block=2)


@task("tiled", contract=18)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_tiled_products_are_float32(student, draw, dtype):
    """In float16 q k can exceed 65504 before it is scaled; bfloat16 has 8 bits for a score."""
    q, k, v = around(draw, 16_000.0, 5, 19, 64)
    qkv = tuple(x.to(dtype) for x in (q * 8, k, v))

    assert_attends(student.flash_attention_torch, qkv, excused=False, block=8)


@task("tiled", contract=19)
def test_tiled_takes_views(student, draw):
    """The arguments may be views among NaN, [B, T, H, D] transposed, strided or expanded."""
    q, k, v = make(draw, 9, 21, 6, 4, 2)
    few = q[:, :1].expand_as(q), k[:1].expand_as(k), v[:, :1].expand_as(v)

    for views in (
        (inside_nan(q, last_axis_step=2), inside_nan(k), inside_nan(v)),
        (q.mT.contiguous().mT, k, inside_nan(v, last_axis_step=3)),
        few,
    ):
        assert_attends(student.flash_attention_torch, views, True, block=8)


@task("tiled", contract=20)
def test_tiled_attention_leaves_its_arguments_alone(student, draw):
    """No argument is modified, nor memory beside it, nor shared by a result, by one key's even."""
    q, k, v = make(draw, 9, 11, 4, 2, 1)
    views = inside_nan(q), inside_nan(k), inside_nan(v)

    assert_left_alone(student, "flash_attention_torch", (q, k, v), views, make(draw, 1, 1, 4))


@task("tiled", contract=21)
@both
def test_tiled_attention_makes_no_matrix_of_t_by_s(student, draw, causal):
    """No tensor has T x S elements: neither scores nor a mask, not even of one head."""
    qkv = make(draw, 400, 400, 16, 2, 1, B=1)

    with student.torch_alone():
        with student.largest_tensor() as largest:
            got = student.flash_attention_torch(*map(student.veil, qkv), causal=causal)
        assert_result(expect(got, Pair), qkv, causal)

    check(largest.elements < 400 * 400, too_large(largest.elements, 400, 400))


@task("tiled", contract=21)
@pytest.mark.parametrize(("T", "S", "heads"), [(96, 96, 8), (64, 64, 1), (20, 256, 2)])
def test_block_bounds_the_tile(student, draw, T, S, heads):
    """A tile of scores holds at most block keys, for each head and for each block of queries."""
    qkv = make(draw, T, S, 2, heads, heads, B=1)

    with student.torch_alone():
        with student.largest_tensor() as largest:
            got = student.flash_attention_torch(*map(student.veil, qkv), block=8)
        assert_result(expect(got, Pair), qkv, False, block=8)

    # Queries of all heads, a tile of 8 keys for each, and half as much again; or keys and values
    # of all heads, and half as much again, but not all keys for a block of 8 queries.
    limit = heads * max(12 * T, 6 * S)
    made = f"a tensor of {largest.elements} elements was made for T = {T}, S = {S}, H = {heads}"
    say = f"{made} and block = 8, expected tiles of at most {8 * heads * T}"
    check(largest.elements <= limit, say)


@task("tiled", contract=12)
def test_tiled_arguments_in_order_and_left_out(student, draw):
    """causal and then block may be passed by position; without them nothing is hidden."""
    qkv = make(draw, 6, 9)

    # Not True: for a block it would pass as 1, and 4 for causal as True.
    got = expect(student.flash_attention_torch(*qkv, False, 4), Pair)
    plain = expect(student.flash_attention_torch(*qkv), Pair)

    assert_result(got, qkv, False)
    assert_result(plain, qkv, False)


@task("tiled", contract=12)
def test_default_block_has_64_keys(student, draw):
    """A tile holds 64 keys for each row if block is left out, not more."""
    qkv = make(draw, 70, 260, 2, B=1)

    with student.torch_alone():
        with student.largest_tensor() as largest:
            got = student.flash_attention_torch(*map(student.veil, qkv))
        assert_result(expect(got, Pair), qkv, False)

    say = f"a tensor of {largest.elements} elements was made for T = 70, S = 260, H = 1"
    check(largest.elements <= 70 * 96, f"{say}, expected tiles of at most {70 * 64}")


@task("tiled", contract=20)
def test_tiled_results_outlive_the_next_call(student, draw):
    """Each result is a tensor of its own: another call, of the same shape, leaves it as it is."""
    cases = [make(draw, 5, 9) for _ in range(3)]

    assert_results_stay(student, "flash_attention_torch", cases)


def assert_results_stay(student: Any, name: str, cases: list[Any]) -> None:
    """Assert that results are right after the calls for all cases of q, k, v."""
    got = expect(student.together(name, *cases), list[Pair])
    for result, qkv in zip(got, cases, strict=True):
        assert_result(result, qkv, False)


def too_large(elements: int, T: int, S: int) -> str:
    made = f"a tensor of {elements} elements was made for T = {T}, S = {S}"
    return f"{made}, expected fewer than {T} x {S} = {T * S} in each"


@task("tiled", contract=22, gate=True)
def test_tiled_attention_is_your_own(student, draw):
    """No attention of torch runs inside flash_attention_torch."""
    qkv = make(draw, 6, 9)

    with student.guard():
        got = expect(student.flash_attention_torch(*qkv), Pair)

    assert_result(got, qkv, False)


@task("tiled", contract=21)
def test_tiled_memory_is_linear_in_the_length(student):
    """Eight times the length takes about eight times the memory."""
    assert_linear(student, student.flash_attention_torch, block=1024)


def assert_linear(student: Any, attention: Callable[..., Any], **options: Any) -> None:
    """Compare the peak of GPU memory at lengths of 4k and 32k; a matrix would grow 64-fold."""
    peaks: list[int] = []
    for length in (4096, 32_768):
        x = torch.zeros(1, 1, length, 64, dtype=torch.bfloat16)
        with student.peak_memory():  # not looked at: a first call may compile and try sizes out
            expect(attention(x, x, x, **options), Pair)
        with student.peak_memory() as peak:
            expect(attention(x, x, x, **options), Pair)
        peaks.append(max(peak.total, 1 << 20))
    growth = peaks[1] / peaks[0]
    check(growth < 16, f"from 4096 to 32768 rows the memory grows {growth:.0f}-fold")


# --- triton ----------------------------------------------------------------------------------


@task("triton", contract=23, gate=True)
@sizes((7, 13, 16, 2, 2), (65, 34, 32, 2, 1), (20, 65, 64, 3, 1))
def test_kernel_is_attention(student, draw, T, S, D, H, G, causal):
    """flash_attention returns softmax(q k / sqrt(D)) v and each row's log-sum-exp."""
    assert_attends(student.flash_attention, make(draw, T, S, D, H, G, B=2), causal)


@task("triton", contract=24)
@sizes(
    *[(1, 1, 16, 2, 2), (1, 197, 80, 2, 1), (7, 197, 16, 1, 1), (63, 64, 16, 2, 1)],
    *[(64, 64, 16, 1, 1), (65, 197, 16, 1, 1), (197, 197, 16, 1, 1), (197, 63, 80, 1, 1)],
    *[(197, 7, 16, 2, 1), (63, 1, 64, 2, 1), (33, 65, 128, 1, 1)],
)
def test_kernel_at_all_sizes(student, draw, T, S, D, H, G, causal):
    """T and S are any numbers, multiples of a block or not, equal or not."""
    assert_attends(student.flash_attention, make(draw, T, S, D, H, G, B=1), causal)


@task("triton", contract=25)
@pytest.mark.parametrize("D", [1, 5, 24, 80, 97, 192, 256])
def test_kernel_at_any_width(student, draw, D):
    """D is any number up to 256, no power of two or multiple of 16 is needed."""
    assert_attends(student.flash_attention, make(draw, 19, 37, D, 2, 1, B=1), True)


@task("triton", contract=26)
@pytest.mark.parametrize(("T", "S"), [(130, 261), (261, 130), (16, 16), (17, 16), (33, 65)])
def test_causal_blocks_are_left_out_exactly(student, draw, T, S):
    """Blocks of keys behind a row's last key may be skipped; all others must be visited."""
    assert_attends(student.flash_attention, make(draw, T, S, 16, 1, 1, B=1), True)


@task("triton", contract=28)
@pytest.mark.parametrize(("H", "G"), [(6, 1), (6, 2), (6, 3), (6, 6)])
def test_kernel_heads_read_their_key_head(student, draw, H, G):
    """Query head h reads key head h // (H / G): neighbours share."""
    assert_attends(student.flash_attention, make(draw, 9, 20, 16, H, G, B=1))


@task("triton", contract=27)
@pytest.mark.parametrize(("T", "S"), [(70, 5), (150, 33), (5, 0), (140, 1)])
def test_kernel_rows_without_a_key_are_zero(student, draw, T, S):
    """A row that sees no key has the result 0 and the lse -inf, never NaN."""
    for causal in (True, False):
        assert_attends(student.flash_attention, make(draw, T, S, B=1), causal)


ORDERS = pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])


@task("triton", contract=38)
@ORDERS
@sizes((70, 37, 24, 2, 1), (1, 140, 16, 2, 2))
def test_kernel_programs_do_not_need_each_other(student, draw, T, S, D, H, G, causal, order):
    """Nothing that a program writes is read or written by another, or lies outside of a tensor."""
    tensors = make(draw, T, S, D, H, G, B=2)

    with student.sound_kernels(order):
        assert_attends(student.flash_attention, tensors, causal)


FAR = 1 << 29  # elements from one to the next along an axis: the fourth step passes 2**31
MANY = 70_001  # heads: more than axes 1 and 2 of a grid have programs


def far_along(student: Any, x: Tensor, axis: int) -> Any:
    """Return a tensor of 5 along an axis whose offsets there fit no int32."""
    strides = list(x.contiguous().stride())
    strides[axis] = FAR
    return student.far(x, *strides)


@task("triton", contract=38)
@pytest.mark.parametrize("axis", range(3), ids=["batch", "head", "row"])
def test_kernel_reaches_beyond_two_gigabytes(student, draw, axis):
    """A batch, a head and a row may begin 2**31 elements and more behind the first."""
    B, H, N, D = (5 if at == axis else few for at, few in enumerate((1, 1, 3, 16)))
    qkv = make(draw, N, N, D, H, H, B, torch.bfloat16)

    with student.sound_kernels():
        got = student.flash_attention(*(far_along(student, x, axis) for x in qkv), causal=True)

    assert_result(expect(got, Pair), qkv, True)


@task("triton", contract=38)
@pytest.mark.parametrize(("B", "H"), [(MANY, 1), (1, MANY)], ids=["batch", "heads"])
def test_grid_for_many_heads(student, draw, device, B, H):
    """A GPU has 65,535 programs on axes 1 and 2 of a grid, and B times H may be more."""
    q, k, v = (x.expand(B, H, -1, -1) for x in make(draw, 1, 2, B=1))

    with student.grids_alone():
        got = expect(student.flash_attention(q, k, v), Pair)

    if device == "cuda":
        assert_result(got, (q, k, v), False)


@task("triton", contract=24)
@pytest.mark.parametrize(("B", "T"), [(0, 5), (2, 0)], ids=["no sequences", "no queries"])
def test_nothing_to_attend_from(student, draw, B, T):
    """With B = 0 or T = 0 the results are empty."""
    assert_attends(student.flash_attention, make(draw, T, 7, B=B), True)


@task("triton", contract=24)
@both
def test_kernel_few_queries_and_keys_in_every_combination(student, draw, causal):
    """T and S may be 0, 1 and 2 in every combination, of one and two heads and sequences."""
    for (T, S), B in itertools.product(FEW, (1, 2)):
        assert_attends(student.flash_attention, make(draw, T, S, 3, 3 - B, 1, B), causal)


@task("triton", contract=29)
@pytest.mark.parametrize("scale", [0.3, 1.0, 0.0, -0.45], ids=lambda x: f"scale {x:g}")
def test_scale_may_be_any_number(student, draw, scale):
    """scale replaces D**-0.5, also where it is zero or negative."""
    for causal in (False, True):
        assert_attends(student.flash_attention, make(draw, 17, 37, B=2), causal, scale)


@task("triton", contract=30)
@pytest.mark.parametrize("scale", [1.0, -1.0], ids=lambda x: f"scale {x:g}")
@pytest.mark.parametrize("level", [1e6, -1e6, 1e4, -1e4], ids=lambda x: f"scores near {x:g}")
def test_kernel_scores_of_any_level(student, draw, level, scale):
    """A level that all scores share cancels: exp is taken of differences alone."""
    q, k, v = around(draw, level, 11, 75)

    assert_attends(student.flash_attention, (q * scale, k, v), True, scale, excused=False)


@task("triton", contract=30)
@pytest.mark.parametrize("dtype", [torch.float32, *LOW], ids=str)
def test_kernel_scores_from_minus_to_plus_1e4(student, draw, dtype):
    """Where scores lie thousands apart a row is the value of its best key."""
    q, k, v = make(draw, 17, 140, 64, B=1)
    qkv = tuple(x.to(dtype) for x in (q * 100, k * 100, v))

    assert_attends(student.flash_attention, qkv, excused=False)


@task("triton", contract=31)
@pytest.mark.parametrize("scale", [1.0, -1.0], ids=lambda x: f"scale {x:g}")
@pytest.mark.parametrize("step", [4.0, -4.0, 7000.0, -7000.0], ids=lambda x: f"step {x:g}")
def test_kernel_maximum_may_change_in_every_block(student, draw, step, scale):
    """A new maximum shrinks the sum and the result so far; an old one shrinks what is new."""
    q, k, v = ramp(draw, 6, 270, step)

    assert_attends(student.flash_attention, (q * scale, k, v), False, scale, excused=False)


@task("triton", contract=32)
@pytest.mark.parametrize("dtype", LOW, ids=str)
@pytest.mark.parametrize(("T", "S", "D"), [(40, 66, 64), (5, 130, 80), (33, 50, 128)])
def test_kernel_in_low_precision(student, draw, T, S, D, dtype):
    """o has the dtype of q and lse is float32; nothing on the way is rounded to less."""
    assert_attends(student.flash_attention, make(draw, T, S, D, B=1, dtype=dtype), True)


@task("triton", contract=32)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_kernel_sums_are_kept_in_float32(student, draw, dtype):
    """A thousand keys add up in float32; in less, the sum would stop growing."""
    assert_attends(student.flash_attention, grains(draw, dtype))


@task("triton", contract=32)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_kernel_parts_of_the_keys_are_float32(student, draw, dtype):
    """What programs find for parts of the keys is joined before it is rounded, not after."""
    assert_attends(student.flash_attention, balanced(draw, dtype), excused=False)


@task("triton", contract=33)
@both
@pytest.mark.parametrize("D", [16, 80])
def test_kernel_reads_nothing_beside_its_arguments(student, draw, D, causal):
    """[B, T, H, D] views transposed, among NaN, give the same."""
    q, k, v = make(draw, 35, 37, D, 2, 1, B=2)

    views = inside_nan(q), inside_nan(k), inside_nan(v)

    assert_attends(student.flash_attention, views, causal)


@task("triton", contract=34)
def test_each_argument_has_strides_of_its_own(student, draw):
    """q, k and v may be laid out differently, with any stride along D, or be one broadcast."""
    q, k, v = make(draw, 17, 35, 16, 2, 2)

    other = inside_nan(q, last_axis_step=2), k.mT.contiguous().mT, inside_nan(v)

    assert_attends(student.flash_attention, other, True)
    assert_attends(student.flash_attention, (q, k[:1, :1].expand_as(k), v[:, :1].expand_as(v)))
    assert_attends(
        student.flash_attention, (q.mT.contiguous().mT, k, inside_nan(v, last_axis_step=3))
    )


@task("triton", contract=29)
def test_kernel_arguments_in_order_and_left_out(student, draw):
    """causal and then scale may be passed by position; without them nothing is hidden."""
    qkv = make(draw, 6, 9)

    got = expect(student.flash_attention(*qkv, True, 0.6), Pair)
    plain = expect(student.flash_attention(*qkv), Pair)

    assert_result(got, qkv, True, 0.6)
    assert_result(plain, qkv, False)


@task("triton", contract=35)
def test_kernel_leaves_its_arguments_alone(student, draw):
    """No argument is modified, nor memory beside it, nor shared by a result."""
    q, k, v = make(draw, 9, 11, 24, 2, 1)
    views = inside_nan(q), inside_nan(k), inside_nan(v)

    assert_left_alone(student, "flash_attention", (q, k, v), views, make(draw, 1, 1))


@task("triton", contract=35)
def test_results_outlive_the_next_call(student, draw):
    """Each result is a tensor of its own: another call, of the same shape, leaves it as it is."""
    cases = [make(draw, 1, 9) for _ in range(3)]

    assert_results_stay(student, "flash_attention", cases)


@task("triton", contract=36, gate=True)
@pytest.mark.parametrize("D", [16, 80])
def test_the_work_is_done_in_a_triton_kernel(student, draw, D):
    """flash_attention launches a kernel of yours; torch allocates, views, copies and casts."""
    qkv = make(draw, 35, 40, D, B=1)

    assert_own_kernel(student, lambda: student.flash_attention(*qkv, causal=True))


@task("triton", contract=36)
@pytest.mark.parametrize(
    ("T", "S", "D", "H", "dtype", "causal", "scale"),
    [
        *[(1, 40, 64, 2, torch.bfloat16, False, None), (7, 40, 64, 1, torch.float32, True, None)],
        *[(70, 40, 5, 1, torch.float32, True, None), (9, 40, 256, 1, torch.float16, True, None)],
        *[(9, 40, 16, 4, torch.bfloat16, True, None), (9, 40, 64, 1, torch.float32, False, -0.3)],
        (1, 300, 16, 1, torch.float32, False, None),
    ],
    ids=[
        *["one query", "few queries", "narrow", "wide", "grouped heads", "a scale"],
        "one query, many keys",
    ],
)
def test_no_case_is_left_to_torch(student, draw, T, S, D, H, dtype, causal, scale):
    """A kernel of yours does the work for every size, dtype and option."""
    qkv = make(draw, T, S, D, H, 1, B=1, dtype=dtype)

    assert_own_kernel(student, lambda: student.flash_attention(*qkv, causal=causal, scale=scale))
    assert_kernels_alone_attend(student, draw, T, S, D, causal, H, scale=scale, dtype=dtype)


def assert_kernels_alone_attend(
    student: Any, draw: Any, T: int, S: int, D: int, causal: bool, H: int = 1, **options: Any
) -> None:
    """Fail where o or lse is computed elsewhere: of the products torch, which may join parts, does
    half at most.
    """
    scale, dtype = options.get("scale"), options.get("dtype", torch.float32)
    assert_kernels_alone_compute(
        student,
        lambda q, k, v: student.flash_attention(q, k, v, causal=causal, scale=scale),
        lambda: make(draw, T, S, D, H, 1, B=1, dtype=dtype),
        lambda q, k, v: oracle.attend(q, k, v, causal, scale),
        *("o", "lse"),
        elements=T * S * D * H // 2,
    )


def assert_kernels_alone_attend_packed(
    student: Any, draw: Any, lengths: tuple[list[int], list[int]], D: int, H: int, causal: bool
) -> None:
    """Fail where o is computed elsewhere; the lengths are there to be seen."""
    cuts = [*map(starts, lengths)]
    products = sum(T * S for T, S in zip(*lengths, strict=True)) * D * H
    assert_kernels_alone_compute(
        student,
        lambda q, k, v: student.flash_attention_varlen(q, k, v, *cuts, causal=causal),
        lambda: pack(draw, lengths, D, H),
        lambda q, k, v: [oracle.attend_packed(q, k, v, *lengths, causal)],
        "o",
        elements=products // 2,
    )


# What multiplies queries with keys, or weights with values, outside of a kernel. A softmax is not
# among it: it may join the parts of keys that were dealt to several programs.
PRODUCTS = {
    *("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "linear"),
    *("convolution", "mkldnn_linear"),
}


def assert_own_kernel(student: Any, call: Callable[[], Any]) -> None:
    """Fail without a kernel launch, or where torch does the work or a forbidden attention runs."""
    with student.guard(), student.operators() as operators, student.launches() as launches:
        call()
    check(launches.total >= 1, "no Triton kernel was launched, expected one at least")
    found = sorted(PRODUCTS & set(operators.seen))
    check(not found, f"torch does the work of the kernel: {', '.join(found)}")


@task("triton", contract=36, gate=True)
def test_the_result_comes_from_a_kernel(student, draw):
    """o and lse are what a kernel wrote: without it, neither is right."""
    qkv = make(draw, 30, 40, B=1)

    want = oracle.attend(*qkv, True)
    assert_from_kernels(student, lambda: student.flash_attention(*qkv, True), want, "o", "lse")
    # No code can know the sizes at which it is looked at closely.
    T, S, D = draw.integer(7, 66), draw.integer(20, 66), draw.integer(8, 66)
    assert_kernels_alone_attend(student, draw, T, S, D, True)


@task("triton", contract=37)
@both
def test_kernel_makes_no_matrix_of_t_by_s(student, draw, causal):
    """No tensor has T x S elements: neither scores nor a mask, not even of one head."""
    qkv = make(draw, 280, 280, 8, B=1)

    with student.largest_tensor() as largest:
        got = expect(student.flash_attention(*qkv, causal=causal), Pair)

    check(largest.elements < 280 * 280, too_large(largest.elements, 280, 280))
    assert_result(got, qkv, causal)


@task("triton", contract=37)
def test_kernel_memory_is_linear_in_the_length(student):
    """Eight times the length takes about eight times the memory."""
    assert_linear(student, student.flash_attention)


@task("triton", contract=24)
@both
@pytest.mark.parametrize(("T", "S", "D"), [(1999, 2500, 64), (2500, 1999, 128), (2048, 2048, 128)])
def test_kernel_on_long_sequences(student, draw, device, T, S, D, causal):
    """Hundreds of blocks give the same; these sizes run on a GPU only."""
    needs_gpu(device)
    for dtype in (torch.float32, torch.bfloat16):
        # Two heads: the oracles of eight took 35 s of a grading on a GPU.
        assert_attends(student.flash_attention, make(draw, T, S, D, 2, 1, 1, dtype), causal)


def needs_gpu(device: str) -> None:
    if device == "cpu":
        raise NotGraded("too long for Triton's interpreter")


@task("triton", contract=39)
def test_kernel_compiles(student, draw):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    tensors = make(draw, 20, 37, 64, 2, 1, dtype=torch.float16)

    with student.compilable_kernels("sm_90"):
        assert_attends(student.flash_attention, tensors, False)


# --- varlen ----------------------------------------------------------------------------------

MIXED = ([5, 0, 70, 1, 33], [5, 9, 64, 1, 0])  # lengths of queries, of keys


def starts(lengths: list[int]) -> Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def pack(draw: Any, lengths: Any, D: int = 16, H: int = 1, G: int = 1, **options: Any) -> Qkv:
    """Draw q [sum of the first lengths, H, D], k and v [sum of the second, G, D]."""
    total_q, total_k = map(sum, lengths)
    shapes = (total_q, H, D), (total_k, G, D), (total_k, G, D)
    q, k, v = (draw.normal(*shape, **options) for shape in shapes)
    return q, k, v


def assert_packed(
    student: Any, qkv: Qkv, lengths: Any, causal: bool, *, excused: bool = True, near: str = ""
) -> None:
    """Attend to packed sequences and compare each with the oracle's; ``near`` says which case."""
    got = student.flash_attention_varlen(*qkv, *map(starts, lengths), causal=causal)
    assert_packed_result(got, qkv, lengths, causal, excused=excused, near=near)


def assert_packed_result(
    got: Any, qkv: Qkv, lengths: Any, causal: bool, *, excused: bool = True, near: str = ""
) -> None:
    want = oracle.attend_packed(*qkv, *lengths, causal)
    how = dict(trusted=[], off=oracle.attend_packed(*qkv, *lengths, causal, off))
    if excused:
        how["trusted"] = oracle.attend_packed(*qkv, *lengths, causal, oracle.attend_in_kind)
    assert_close(got, want, "attention", like=qkv[0], inner=1024, **how, what=f"o{near}")


@task("varlen", contract=40, gate=True)
@both
@pytest.mark.parametrize("lengths", [([4, 9, 2], [4, 9, 2]), ([3, 17, 33], [5, 20, 34])], ids=str)
def test_packed_sequences_attend_within_themselves(student, draw, lengths, causal):
    """Each sequence gets what it would get alone."""
    assert_packed(student, pack(draw, lengths, 16, 2, 1), lengths, causal)


DIFFERENT = pytest.mark.parametrize(
    "lengths",
    [([9, 40, 3, 1], [20, 7, 90, 1]), ([130, 1, 65], [1, 130, 140]), ([197], [63]), MIXED],
    ids=str,
)


@task("varlen", contract=41)
@DIFFERENT
def test_queries_and_keys_differ_in_number(student, draw, lengths):
    """Short and long sequences lie side by side; each sees all of its own keys and no others."""
    assert_packed(student, pack(draw, lengths), lengths, False)


@task("varlen", contract=42)
@DIFFERENT
def test_packed_causal_rows_end_at_their_own_key(student, draw, lengths):
    """A sequence's last query stands on its own last key, whatever the two lengths are."""
    assert_packed(student, pack(draw, lengths), lengths, True)


@task("varlen", contract=52)
@ORDERS
@both
def test_packed_programs_do_not_need_each_other(student, draw, causal, order):
    """Nothing that a program writes is read or written by another, or lies outside of a tensor."""
    lengths = [9, 70, 0, 1], [20, 75, 3, 1]
    packed = pack(draw, lengths, 24)

    with student.sound_kernels(order):
        assert_packed(student, packed, lengths, causal)


@task("varlen", contract=52)
@pytest.mark.parametrize("axis", range(2), ids=["row", "head"])
def test_packed_rows_beyond_two_gigabytes(student, draw, axis):
    """A head, a row and a sequence may begin 2**31 elements and more behind the first."""
    lengths = ([5, 2], [5, 2]) if axis == 0 else ([2, 1], [3, 2])
    heads = 5 if axis == 1 else 1
    packed = pack(draw, lengths, 16, heads, heads, dtype=torch.bfloat16)

    with student.sound_kernels():
        given = (far_along(student, x, axis) for x in packed)
        got = student.flash_attention_varlen(*given, *map(starts, lengths), causal=True)

    assert_packed_result(got, packed, lengths, True)


@task("varlen", contract=52)
def test_grid_for_many_packed_heads(student, draw, device):
    """A GPU has 65,535 programs on axes 1 and 2 of a grid, and heads may be more."""
    q, k, v = (x.expand(1, MANY, -1) for x in pack(draw, ([1], [1])))

    with student.grids_alone():
        got = student.flash_attention_varlen(q, k, v, starts([1]), starts([1]))

    if device == "cuda":
        assert_packed_result(got, (q, k, v), ([1], [1]), False)


@task("varlen", contract=43)
@both
@pytest.mark.parametrize(
    "lengths",
    [
        ([0, 3, 0, 0, 8, 0], [0, 3, 0, 0, 8, 0]),
        ([0, 3, 4, 0], [6, 0, 2, 7]),
        ([4, 70, 2], [0, 0, 0]),
        ([0, 0], [3, 5]),
        ([0, 0, 0], [0, 0, 0]),
        ([], []),
    ],
    ids=str,
)
def test_lengths_of_zero(student, draw, lengths, causal):
    """Sequences may lack queries, keys or both; rows without a key are zero."""
    assert_packed(student, pack(draw, lengths), lengths, causal)


@task("varlen", contract=43)
@both
def test_packed_few_queries_and_keys_in_every_combination(student, draw, causal):
    """Lengths may be 0, 1 and 2 on either side, in every combination.

    One sequence alone, all side by side, and as many queries in each, but for one that has none.
    """
    batches = [[pair] for pair in FEW] + [FEW]
    for queries, empty in itertools.product((1, 2), (None, 0, 1, 2)):
        batches.append([(queries * (at != empty), keys) for at, keys in enumerate((2, 1, 2))])
    for batch in batches:
        lengths = [queries for queries, _ in batch], [keys for _, keys in batch]
        near = f", for {lengths[0]} queries and {lengths[1]} keys,"
        assert_packed(student, pack(draw, lengths, 3), lengths, causal, near=near)


@task("varlen", contract=44)
@pytest.mark.parametrize(("D", "H", "G"), [(80, 4, 2), (5, 6, 2), (128, 3, 1), (256, 1, 1)])
def test_packed_widths_and_heads(student, draw, D, H, G):
    """D and the grouping of heads are as free as in the dense kernel."""
    lengths = [5, 0, 20, 1], [5, 9, 34, 1]

    assert_packed(student, pack(draw, lengths, D, H, G), lengths, True)


@task("varlen", contract=45)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_packed_low_precision(student, draw, dtype):
    """o has the dtype of q."""
    lengths = [5, 20, 1], [70, 30, 1]

    assert_packed(student, pack(draw, lengths, 64, 2, 1, dtype=dtype), lengths, True)


@task("varlen", contract=45)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_packed_sums_are_kept_in_float32(student, draw, dtype):
    """A thousand keys add up in float32; in less, the sum would stop growing."""
    q, k, v = (x[0].transpose(0, 1) for x in grains(draw, dtype))

    assert_packed(student, (q, k, v), ([3], [1001]), False)


@task("varlen", contract=45)
@pytest.mark.parametrize("dtype", LOW, ids=str)
def test_packed_scores_are_float32(student, draw, dtype):
    """A packed score may exceed 65504 before it is scaled, and has more than 8 bits."""
    q, k, v = (x[0].transpose(0, 1) for x in around(draw, 16_000.0, 5, 19, 64))
    qkv = (q * 8).to(dtype), k.to(dtype), v.to(dtype)

    assert_packed(student, qkv, ([2, 3], [7, 12]), False, excused=False)


@task("varlen", contract=47)
@both
def test_sequences_do_not_touch_each_other(student, draw, causal):
    """NaN in one sequence stays in it."""
    lengths = [6, 35, 3, 20, 9], [7, 35, 20, 40, 5]
    q, k, v = pack(draw, lengths, 24, 2, 1)
    clean, known = (
        oracle.attend_packed(q, k, v, *lengths, causal, a) for a in (oracle.attend, off)
    )
    rows, keys = (torch.zeros(sum(n), dtype=torch.bool) for n in lengths)
    for b in (0, 2, 4):
        rows[slice(*starts(lengths[0])[b : b + 2])] = True
        keys[slice(*starts(lengths[1])[b : b + 2])] = True

    q, k, v = q.clone(), k.clone(), v.clone()
    q[rows], k[keys], v[keys] = math.nan, math.nan, math.nan
    got = student.flash_attention_varlen(q, k, v, *map(starts, lengths), causal=causal)

    form = expect(got, Tensor)
    check(form.shape == q.shape, f"the result has shape {list(form.shape)}, q {list(q.shape)}")
    how = dict(like=q, inner=1024, off=known[~rows], what="o")
    assert_close(form[~rows], clean[~rows], "attention", **how)


@task("varlen", contract=46)
@pytest.mark.parametrize("level", [1e6, -1e6, 1e4, -1e4], ids=lambda x: f"scores near {x:g}")
def test_packed_scores_of_any_level(student, draw, level):
    """A level that all scores share cancels, in each sequence."""
    q, k, v = pack(draw, MIXED)
    q, k[..., 0] = q * 4, level / 100.0
    q[..., 0] = 400.0

    assert_packed(student, (q, k, v), MIXED, True, excused=False)


@task("varlen", contract=46)
@pytest.mark.parametrize("step", [4.0, -4.0, 40.0, -40.0], ids=lambda x: f"step {x:g}")
def test_packed_maximum_may_change_in_every_block(student, draw, step):
    """A new maximum shrinks what was summed up so far, in each sequence by itself."""
    lengths = [3, 2], [140, 70]
    q, k, v = pack(draw, lengths)
    q[..., 0] = 4.0
    k[..., 0] = torch.cat([step * torch.arange(keys) for keys in lengths[1]])[:, None]

    assert_packed(student, (q, k, v), lengths, False, excused=False)


def slices(draw: Any, lengths: list[int]) -> Qkv:
    """Draw q, k, v that are slices of one projection [total, H + 2 G, D], which has NaN around."""
    total = sum(lengths)
    base = torch.full((total + 4, 2 + 1 + 1 + 1, 19), math.nan)
    inner = base[2 : total + 2, :4, 1:17]
    inner.copy_(draw.normal(total, 4, 16))
    q, k, v = inner.split([2, 1, 1], 1)
    return q, k, v


@task("varlen", contract=48)
@both
def test_slices_of_one_packed_projection(student, draw, causal):
    """q, k, v may be slices of one [total, H + 2 G, D] tensor."""
    lengths = [7, 0, 40, 12]

    assert_packed(student, slices(draw, lengths), (lengths, lengths), causal)


@task("varlen", contract=49)
def test_packed_arguments_are_left_alone(student, draw):
    """No argument is modified, nor memory beside it; the result shares none with them."""
    lengths = [7, 0, 10, 1]
    watched = [student.watch(x) for x in (*slices(draw, lengths), starts(lengths), starts(lengths))]
    names = "q", "k", "v", "cu_seqlens_q", "cu_seqlens_k"

    expect(student.flash_attention_varlen(*watched), Tensor)
    for argument, name in zip(watched, names, strict=True):
        assert_unmodified(argument, name)
    expect(student.overwritten("flash_attention_varlen", *watched), Tensor)
    for argument, name in zip(watched, names, strict=True):
        assert_new(argument, name)


@task("varlen", contract=48)
def test_packed_arguments_have_strides_of_their_own(student, draw):
    """k and v may be laid out differently, head by head or column by column."""
    lengths = [5, 0, 20, 1], [5, 9, 34, 1]
    q, k, v = pack(draw, lengths, 16, 4, 2)

    k = k.transpose(0, 1).contiguous().transpose(0, 1)
    v = v.mT.contiguous().mT

    assert_packed(student, (q, k, v), lengths, True)


@task("varlen", contract=50, gate=True)
@both
def test_packed_work_is_done_in_a_triton_kernel(student, draw, causal):
    """flash_attention_varlen launches a kernel of yours; torch allocates, views and copies."""
    lengths = [5, 0, 20], [7, 3, 20]
    args = *pack(draw, lengths, 16, 2), *map(starts, lengths)

    assert_own_kernel(student, lambda: student.flash_attention_varlen(*args, causal=causal))


@task("varlen", contract=50)
def test_single_queries_are_not_left_to_torch(student, draw):
    """A kernel of yours does the work also where each sequence has one query, as in decoding."""
    lengths = [1] * 3, [40, 7, 90]
    args = *pack(draw, lengths, 5, 2), *map(starts, lengths)

    assert_own_kernel(student, lambda: student.flash_attention_varlen(*args, causal=True))
    assert_kernels_alone_attend_packed(student, draw, lengths, 5, 2, True)


@task("varlen", contract=50, gate=True)
def test_the_packed_result_comes_from_a_kernel(student, draw):
    """o is what a kernel wrote: without it, o is wrong."""
    lengths = [5, 30, 7], [9, 20, 7]
    qkv = pack(draw, lengths)

    want = oracle.attend_packed(*qkv, *lengths, False)
    args = *qkv, *map(starts, lengths)
    assert_from_kernels(student, lambda: student.flash_attention_varlen(*args), [want], "o")
    near = [[draw.integer(3, 40) for _ in range(3)] for _ in range(2)]
    assert_kernels_alone_attend_packed(student, draw, (near[0], near[1]), 16, 1, False)


@task("varlen", contract=42)
def test_packed_arguments_in_order_and_left_out(student, draw):
    """causal may be passed by position; without it nothing is hidden."""
    lengths = [4, 9, 2], [6, 3, 2]
    qkv, cuts = pack(draw, lengths), [*map(starts, lengths)]

    got = student.flash_attention_varlen(*qkv, *cuts, True)
    plain = student.flash_attention_varlen(*qkv, *cuts)

    assert_packed_result(got, qkv, lengths, True)
    assert_packed_result(plain, qkv, lengths, False)


@task("varlen", contract=49)
def test_packed_results_outlive_the_next_call(student, draw):
    """A call leaves earlier results as they are, and remembers no lengths of an earlier one."""
    several = ([40, 50, 50], [6, 3, 2]), ([2, 3, 135], [1, 9, 1]), ([140, 0, 0], [7, 4, 0])
    packed = [pack(draw, lengths) for lengths in several]
    cases = [(*qkv, *map(starts, n)) for qkv, n in zip(packed, several, strict=True)]

    got = expect(student.together("flash_attention_varlen", *cases), list[Tensor])

    for o, qkv, lengths in zip(got, packed, several, strict=True):
        assert_packed_result(o, qkv, lengths, False)


@task("varlen", contract=51)
def test_packed_sequences_make_no_matrix(student, draw):
    """No tensor has a sequence's T x S elements, and none is padded to the longest sequence."""
    lengths = [1] * 15 + [300], [1] * 15 + [300]
    qkv = pack(draw, lengths, 32)

    with student.largest_tensor() as largest:
        got = student.flash_attention_varlen(*qkv, *map(starts, lengths), causal=True)

    assert_packed_result(got, qkv, lengths, True)
    limit = 300 * 300  # padding takes 16 x 300 x 32, more than that
    check(largest.elements < limit, too_large(largest.elements, 300, 300))


@task("varlen", contract=53)
def test_packed_kernel_compiles(student, draw):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    lengths = [9, 20, 0], [12, 37, 3]
    qkv = pack(draw, lengths, 24, 2, 1)

    with student.compilable_kernels("sm_80"):
        assert_packed(student, qkv, lengths, False)


# --- speed -----------------------------------------------------------------------------------

SPEED = pytest.mark.parametrize(
    ("length", "width", "heads", "causal"),
    [
        *[(4096, 64, 64, False), (4096, 128, 64, True), (8192, 64, 32, True)],
        *[(8192, 128, 16, False), (16_384, 64, 16, False), (16_384, 128, 16, True)],
    ],
)


def race(length: int, width: int, heads: int, causal: bool) -> Race:
    """Attention of ``heads`` heads in 2 sequences, all in all, with T = S; a call takes 1 to 4 ms.

    From slot to slot the spread and the level of the scores differ: the largest are far beyond
    what exp can take without a running maximum.
    """

    def inputs(generator: torch.Generator) -> Qkv:
        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, device=generator.device)

        shape = 2, heads // 2, length, width
        spread = 2 ** (6 * torch.rand(1, generator=generator, device=generator.device) - 1)
        q, k, v = normal(*shape) * spread, normal(*shape) + normal(width), normal(*shape)
        return q.bfloat16(), k.bfloat16(), (v + normal(width)).bfloat16()

    pairs = length * length * heads
    return Race(
        function="flash_attention",
        case=f"{length} x {width}, {'causal' if causal else 'full'}",
        inputs=inputs,
        options={"causal": causal},
        compare="attention",
        bytes=4 * 2 * heads * length * width,
        flops=4 * pairs * width // (2 if causal else 1),
        size=length,
        axis="queries and keys",
    )


@task("speed", gate=True, needs=("triton",))
@SPEED
def test_kernel_is_right_at_speed_sizes(stopwatch, length, width, heads, causal):
    """o and lse are right at the sizes that are timed, and no argument is modified."""
    stopwatch.verify(race(length, width, heads, causal))


@task("speed", tiers="forward", needs=("triton",))
@SPEED
def test_kernel_speed(stopwatch, tier, length, width, heads, causal):
    """flash_attention reaches this share of the speed of torch's flash backend."""
    stopwatch.reach(tier, race(length, width, heads, causal))
