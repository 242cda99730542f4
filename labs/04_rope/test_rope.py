"""Public tests of lab 04: the examples of the handout and more of their kind, by its numbers.

Most frequencies here are quarters of a turn per position, so that what comes out can be seen.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Proxy,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)

FP32, BF16, FP16 = torch.float32, torch.bfloat16, torch.float16
LOW = pytest.mark.parametrize("dtype", [BF16, FP16], ids=["bfloat16", "half"])
KINDS = pytest.mark.parametrize("kind", ["PostRopeCache", "PreRopeCache"])
Quad = tuple[Tensor, Tensor, Tensor, Tensor]
QUARTER = torch.tensor([math.pi / 2])  # of a turn per position; D = 2


def row(*tokens: tuple[float, ...]) -> Tensor:  # [1, 1, T, D]
    return torch.tensor([[list(tokens)]], dtype=torch.float32)


def at(*positions: int) -> Tensor:  # [1, T]
    return torch.tensor([list(positions)])


# --- Task 1: rope_frequencies ----------------------------------------------------------------


def assert_some(got: object, count: int, want: dict[int, float], within: float = 2e-6) -> None:
    """Compare some of the frequencies by their ratio, since the last ones may be tiny.

    What is computed as a power of e is known as well as its exponent is.
    """
    frequencies = expect(got, Tensor, "the result")
    right = frequencies.dtype == FP32 and frequencies.shape == (count,)
    check(right, f"the frequencies are {describe(frequencies)}, expected float32 [{count}]")
    for i, theirs in want.items():
        mine = float(frequencies[i])
        near = abs(mine / theirs - 1) <= within + 4 * abs(math.log(theirs)) * 2.0**-24
        check(near, f"frequency {i} is {mine:.7g}, expected {theirs:.7g}")


def assert_ratios(got: object, want: Sequence[float], within: float = 2e-6) -> None:
    """Compare all frequencies by their ratio."""
    assert_some(got, len(want), dict(enumerate(want)), within)


def llama(factor: float, low: float, high: float, context: int, **more: object) -> dict[str, Any]:
    """A scaling as a config has it."""
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": low,
        "high_freq_factor": high,
        "original_max_position_embeddings": context,
    } | more


EXAMPLE = llama(4.0, 1.0, 4.0, 1000)  # of the handout, with dim = 8 and theta = 10000
# With theta = 16 pairs of 8 turn by 1, 1/2, 1/4 and 1/8; in 63 tokens 10, 5, 2.5 and 1.25 times.
SMALL = llama(8.0, 2.0, 9.0, 63)


@task("frequencies", contract=1)
@pytest.mark.parametrize(
    ("dim", "theta", "want"),
    [
        (8, 10_000.0, [1, 0.1, 0.01, 0.001]),
        (8, 16.0, [1, 1 / 2, 1 / 4, 1 / 8]),
        (6, 27.0, [1, 1 / 3, 1 / 9]),
    ],
)
def test_each_pair_is_slower_than_the_one_before(student, dim, theta, want):
    """With D = 8 and theta = 10000 each pair is ten times as slow as the one before."""
    assert_ratios(student.rope_frequencies(dim, theta), want)


@task("frequencies", contract=2)
@pytest.mark.parametrize(("dim", "theta"), [(2, 7.0), (4, 4.0), (10, 32.0), (22, 2048.0)])
def test_widths_that_are_even(student, dim, theta):
    """D = 2 has a single pair, which turns by 1; here the others halve."""
    assert_ratios(student.rope_frequencies(dim, theta), [0.5**i for i in range(dim // 2)])


@task("frequencies", contract=3)
def test_64_pairs_that_halve(student):
    """theta = 2 ** 64 and D = 128: pair i turns by 2 ** -i, which float32 has without error."""
    assert_ratios(student.rope_frequencies(128, 2.0**64), [2.0**-i for i in range(64)])


@task("frequencies", contract=4)
def test_many_turns_are_left_alone(student):
    """159 and 16 turns are more than 4: the first two pairs of the example keep 1 and 0.1."""
    assert_some(student.rope_frequencies(8, 10_000.0, EXAMPLE), 4, {0: 1, 1: 0.1})


@task("frequencies", contract=5)
def test_few_turns_are_divided(student):
    """0.159 turns are fewer than 1: the last pair of the example gets 0.001 / 4."""
    assert_some(student.rope_frequencies(8, 10_000.0, EXAMPLE), 4, {3: 0.00025})


@task("frequencies", contract=6)
def test_blend_of_the_example(student):
    """1.592 turns are 0.1972 of the way from 1 to 4."""
    assert_some(student.rope_frequencies(8, 10_000.0, EXAMPLE), 4, {2: 0.003979}, within=1e-4)


@task("frequencies", contract=6)
def test_two_blends(student):
    """Of 10, 5.01, 2.51 and 1.25 turns the middle ones lie between 2 and 9."""
    got = student.rope_frequencies(8, 16.0, SMALL)

    assert_ratios(got, [1, 0.2508363, 0.04708407, 1 / 64], within=1e-5)


@task("frequencies", contract=7)
def test_numbers_of_llama_31(student):
    """Some of the 64 frequencies of Llama 3.1 8B."""
    got = student.rope_frequencies(128, 500_000.0, llama(8.0, 1.0, 4.0, 8192))

    want = {0: 1, 1: 0.814617, 28: 0.00321145, 30: 0.00137189, 32: 5.24846e-4, 34: 1.78508e-4}
    assert_some(got, 64, want | {36: 7.78466e-05, 63: 3.06893e-07}, within=1e-4)


@task("frequencies", contract=7)
def test_whole_numbers_and_unknown_keys(student):
    """The same scaling with ints, and beside keys that belong to other types of scaling."""
    numbers = llama(8, 2, 9, 63, attention_factor=2.0, beta_fast=32, rope_theta=5.0)

    got = student.rope_frequencies(8, 16.0, numbers)

    assert_ratios(got, [1, 0.2508363, 0.04708407, 1 / 64], within=1e-5)


@task("frequencies", contract=8)
def test_one_call_after_the_other(student):
    """With a scaling, without, with None and with another one, in one process."""
    plain = [1, 1 / 2, 1 / 4, 1 / 8]
    for scaling, want in (
        ((SMALL,), [1, 0.2508363, 0.04708407, 1 / 64]),
        ((), plain),
        ((None,), plain),
        ((llama(8.0, 20.0, 30.0, 63),), [1 / 8, 1 / 16, 1 / 32, 1 / 64]),
        ((llama(8.0, 0.5, 1.0, 63),), plain),
    ):
        assert_ratios(student.rope_frequencies(8, 16.0, *scaling), want, within=1e-5)


@task("frequencies", contract=9)
def test_dict_of_the_caller(student):
    """All keys of scaling are there afterwards, with their numbers."""
    scaling = student.watch(dict(EXAMPLE))

    student.rope_frequencies(8, 10_000.0, scaling)

    assert_unmodified(scaling, "scaling")


# --- Task 2: rotate --------------------------------------------------------------------------


@task("rotate", contract=10)
def test_example_of_a_rotation(student):
    """Elements 0 and 2 are a pair, and turn by a quarter per position; 1 and 3 stay."""
    x = row(*[(1, 5, 0, 7)] * 3)

    got = student.rotate(x, at(0, 1, 2), torch.tensor([math.pi / 2, 0.0]))

    want = row((1, 5, 0, 7), (0, 5, 1, 7), (-1, 5, 0, 7))
    assert_close(got, want.double(), "elementwise", like=x)


@task("rotate", contract=10)
def test_three_pairs_of_their_own_speeds(student):
    """(1, 10) turns by a quarter, (2, 20) by a half, (3, 30) not at all; two heads alike."""
    x = row((1, 2, 3, 10, 20, 30)).expand(1, 2, 1, 6).clone()

    got = student.rotate(x, at(1), torch.tensor([math.pi / 2, math.pi, 0.0]))

    want = row((-10, -2, 3, 1, -20, 30)).expand(1, 2, 1, 6)
    assert_close(got, want.double(), "elementwise", like=x)


@task("rotate", contract=10)
def test_an_eighth_of_a_turn(student):
    """(1, 0) becomes (√½, √½), and (0, 1) becomes (-√½, √½)."""
    half = math.sqrt(0.5)

    got = student.rotate(row((1, 0), (0, 1)), at(1, 1), QUARTER / 2)

    assert_close(got, row((half, half), (-half, half)).double(), "elementwise", dtype=FP32)


@task("rotate", contract=11)
def test_positions_of_two_rows(student):
    """Row 0 is at 3, 0, 1 and row 1 at 2, 2, 5, where (4, 1) points elsewhere each time."""
    x = row(*[(4, 1)] * 3).expand(2, 1, 3, 2).clone()

    got = student.rotate(x, torch.tensor([[3, 0, 1], [2, 2, 5]]), QUARTER)

    want = torch.cat((row((1, -4), (4, 1), (-1, 4)), row((-4, -1), (-4, -1), (-1, 4))))
    assert_close(got, want.double(), "elementwise", like=x)


@task("rotate", contract=11)
def test_each_token_is_turned_as_alone(student, draw):
    """A token of a batch comes out as it does alone, with its own position."""
    x, frequencies = draw.normal(3, 2, 5, 6), torch.tensor([1.0, 0.3, 0.01])
    positions = torch.tensor([[7, 8, 9, 10, 11], [0, 200, 3, 3, 0], [90, 5, 4, 2, 1]])

    got = student.rotate(x, positions, frequencies)

    alone = [
        [
            expect(
                student.rotate(
                    x[b : b + 1, :, t : t + 1], positions[b : b + 1, t : t + 1], frequencies
                ),
                Tensor,
                "the result for one token",
                shape=x[:1, :, :1].shape,
            )
            for t in range(5)
        ]
        for b in range(3)
    ]
    want = torch.cat([torch.cat(tokens, dim=2) for tokens in alone])
    assert_close(got, want.double(), "elementwise", like=x, what="the result for 3 x 5 tokens")


@task("rotate", contract=12)
@pytest.mark.parametrize("start", [1, 10, 100])
def test_only_the_distance_counts(student, draw, start):
    """A query 5 tokens behind a key: the product is that of positions 5 and 0 wherever it is."""
    q, k = draw.normal(1, 1, 1, 8), draw.normal(1, 1, 1, 8)
    frequencies = torch.tensor([1.0, 0.7, 0.3, 0.01])

    def product(query: int, key: int) -> float:
        turned = [
            student.rotate(q, at(query), frequencies),
            student.rotate(k, at(key), frequencies),
        ]
        first, second = (expect(each, Tensor, "the result").double() for each in turned)
        check(first.shape == second.shape == (1, 1, 1, 8), f"the result is {describe(first)}")
        return float((first * second).sum())

    here, there = product(5, 0), product(start + 5, start)

    near = abs(here - there) < 1e-4 * float(q.norm() * k.norm())
    places = f"at positions {start + 5} and {start} the product is {there:.5f}"
    check(near, f"{places}, expected {here:.5f} as at 5 and 0")


@task("rotate", contract=13)
@pytest.mark.parametrize(
    ("position", "dtype"),
    [
        *((position, FP32) for position in (2049, 100_003, 1_000_007)),
        *((position, dtype) for position in (2049, 100_003) for dtype in (BF16, FP16)),
    ],
)
def test_angle_of_a_late_position(student, position, dtype):
    """(1, 0) becomes (cos φ, sin φ) of φ = position · 0.3, the product of two float32 numbers."""
    angle = torch.tensor(float(position)) * torch.tensor(0.3)  # rounded to float32

    got = student.rotate(row((1, 0)).to(dtype), at(position), torch.tensor([0.3]))

    want = row((math.cos(float(angle)), math.sin(float(angle)))).double()
    assert_close(got, want, "elementwise", dtype=dtype)


@task("rotate", contract=14)
@LOW
def test_sixteen_bits_come_back(student, draw, dtype):
    """In 16 bits the result is that of float32, but for rounding; the dtype is that of x."""
    x = draw.normal(2, 2, 4, 6, dtype=dtype)
    positions = torch.tensor([[100, 200, 300, 401], [9, 777, 777, 5]])
    frequencies = torch.tensor([1.0, 0.7, 0.3])
    exact = expect(student.rotate(x.float(), positions, frequencies), Tensor, "in float32 it")

    got = student.rotate(x, positions, frequencies)

    assert_close(got, exact.double(), "elementwise", dtype=dtype, trusted=exact.to(dtype))


@task("rotate", contract=15)
def test_views_are_turned_like_copies(student, draw):
    """x may be [B, T, H, D] seen as [B, H, T, D]; positions and frequencies may have strides."""
    x = draw.normal(2, 3, 4, 8).transpose(1, 2)[..., 1:7]
    positions = torch.tensor([[1, 0], [2, 9], [30, 4]]).T
    frequencies = torch.tensor([0.5, 9.0, 0.25, 9.0, 0.125])[::2]
    watched = [student.watch(value) for value in (x, positions, frequencies)]

    got = student.rotate(*watched)

    copies = x.contiguous(), positions.contiguous(), frequencies.contiguous()
    want = expect(student.rotate(*copies), Tensor, "the result for copies")
    assert_close(got, want.double(), "elementwise", like=x, what="the result for views")
    for value, name in zip(watched, ("x", "positions", "frequencies"), strict=True):
        assert_unmodified(value, name)


# --- Task 3: PostRopeCache, PreRopeCache -----------------------------------------------------


def make(student, kind: str, *args: object) -> Proxy:
    return expect(getattr(student, kind)(*args), Proxy, f"{kind}(...)")


def update(cache: Proxy, k: object, v: object, positions: object) -> Quad:
    return expect(cache.update(k, v, positions), Quad, "what update returns")


def assert_indices(got: Tensor, want: list[list[int]], what: str) -> None:
    """Compare positions; int32 will do."""
    form = f"{what}: {describe(got)}"
    check(got.dtype in (torch.int64, torch.int32), f"{form}, expected int64")
    assert_equal(got.long(), torch.tensor(want), what)


@task("caches", contract=16)
@KINDS
def test_example_of_two_updates(student, kind):
    """Keys (1, 0) at 1 and 2, then (0, 3) at 2: each is turned once, by its own position."""
    cache = make(student, kind, QUARTER)

    first, *_ = update(cache, row((1, 0), (1, 0)), row((5, 6), (7, 8)), at(1, 2))
    assert_close(first, row((0, 1), (-1, 0)).double(), "elementwise", what="keys")

    second, *_ = update(cache, row((0, 3)), row((9, 9)), at(2))
    assert_close(second, row((0, 1), (-1, 0), (0, -3)).double(), "elementwise", what="keys")


@task("caches", contract=16)
@KINDS
def test_keys_are_those_of_rotate(student, draw, kind):
    """Three rows, two heads, two updates: the keys are what your rotate makes of all keys."""
    k, v, positions = draw.normal(3, 2, 7, 6), draw.normal(3, 2, 7, 6), draw.integers(0, 50, 3, 7)
    frequencies = torch.tensor([1.0, 0.3, 0.01])
    cache = make(student, kind, frequencies)

    update(cache, k[:, :, :4], v[:, :, :4], positions[:, :4])
    keys, *_ = update(cache, k[:, :, 4:], v[:, :, 4:], positions[:, 4:])

    want = expect(student.rotate(k, positions, frequencies), Tensor, "the result of rotate")
    assert_close(keys, want.double(), "elementwise", like=k, what="keys")


@task("caches", contract=17)
@KINDS
def test_what_comes_back_as_it_came(student, kind):
    """Values are not turned; key_positions are of all tokens, query_positions of the new ones."""
    cache = make(student, kind, QUARTER)
    k = torch.ones(2, 1, 3, 2)
    v = torch.tensor(
        [[[[5.0, 6.0], [7.0, 8.0], [9.0, 1.0]]], [[[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]]]]
    )

    _, values, keys_at, queries_at = update(
        cache, k[:, :, :2], v[:, :, :2], torch.tensor([[1, 2], [9, 0]])
    )
    assert_equal(values, v[:, :, :2].contiguous(), "values")
    assert_indices(keys_at, [[1, 2], [9, 0]], "key_positions")
    assert_indices(queries_at, [[1, 2], [9, 0]], "query_positions")

    _, values, keys_at, queries_at = update(
        cache, k[:, :, 2:], v[:, :, 2:], torch.tensor([[2], [700]])
    )
    assert_equal(values, v, "values")
    assert_indices(keys_at, [[1, 2, 2], [9, 0, 700]], "key_positions")
    assert_indices(queries_at, [[2], [700]], "query_positions")


@task("caches", contract=18)
@KINDS
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1, 1, 1, 1), (5, 1, 1, 1), (2, 4, 2)], ids=str)
def test_parts_add_up_to_the_whole(student, draw, kind, sizes):
    """Eight tokens in several updates: the last one returns what a single update of all does."""
    k, v, positions = draw.normal(2, 3, 8, 4), draw.normal(2, 3, 8, 4), draw.integers(0, 90, 2, 8)
    frequencies = torch.tensor([1.0, 0.03])
    whole = update(make(student, kind, frequencies), k, v, positions)
    cache = make(student, kind, frequencies)

    parts = zip(k.split(sizes, 2), v.split(sizes, 2), positions.split(sizes, 1), strict=True)
    for part in parts:
        last = update(cache, *part)

    assert_close(last[0], whole[0].double(), "elementwise", like=k, what="keys")
    assert_equal(last[1], whole[1], "values")
    assert_equal(last[2], whole[2], "key_positions")


@task("caches", contract=19)
@KINDS
def test_three_thousand_tokens(student, kind):
    """Token t has the value (t, -t): after 3000 and one more all 3001 are there."""
    cache = make(student, kind, QUARTER)
    number = torch.arange(3001.0)
    v = torch.stack((number, -number), -1)[None, None]

    update(cache, v[:, :, :3000], v[:, :, :3000], torch.arange(3000)[None])
    keys, values, keys_at, _ = update(cache, v[:, :, 3000:], v[:, :, 3000:], at(3000))

    check(keys.shape == v.shape, f"keys are {describe(keys)}, expected float32 [1, 1, 3001, 2]")
    assert_equal(values, v, "values")
    assert_indices(keys_at, [[*range(3001)]], "key_positions")


@task("caches", contract=20)
@KINDS
@pytest.mark.parametrize("dtype", [FP32, BF16, FP16], ids=["float", "bfloat16", "half"])
def test_keys_of_late_positions(student, kind, dtype):
    """(1, 0) at 100,003 becomes (cos φ, sin φ) in its dtype, in the next update too."""
    angle = float(torch.tensor(100_003.0) * torch.tensor(0.3))
    cache = make(student, kind, torch.tensor([0.3]))
    k, v = row((1, 0)).to(dtype), row((3, 4)).to(dtype)

    update(cache, k, v, at(100_003))
    keys, values, *_ = update(cache, k, v, at(0))

    want = row((math.cos(angle), math.sin(angle)), (1, 0)).double()
    assert_close(keys, want, "elementwise", dtype=dtype, what="keys")
    assert_equal(values, torch.cat((v, v), dim=2), "values")


def assert_lengths(cache: Proxy, sizes: Sequence[int], want: Sequence[int]) -> None:
    """Look at length before the first of some updates and after each."""
    check(expect(cache.length, int, "length") == 0, f"a new cache has length {cache.length}")
    for size, length in zip(sizes, want, strict=True):
        tokens = torch.ones(2, 1, size, 2)
        update(cache, tokens, tokens, torch.zeros(2, size, dtype=torch.int64))
        found = expect(cache.length, int, "length")
        say = f"after the update with {size} tokens length is {found}"
        check(found == length, f"{say}, expected {length}")


@task("caches", contract=21)
@KINDS
def test_length_grows_by_tokens(student, kind):
    """Updates with 3, 1 and 4 tokens of two rows: length is 0, 3, 4 and 8."""
    assert_lengths(make(student, kind, QUARTER), (3, 1, 4), (3, 4, 8))


@task("caches", contract=21)
@KINDS
def test_keys_of_zero_are_keys(student, kind):
    """Tokens with keys and values of 0 come back and are counted, whatever stands beside them."""
    cache, nothing = make(student, kind, QUARTER), row((0, 0), (0, 0))

    update(cache, nothing, nothing, at(0, 1))
    keys, values, _, _ = update(cache, row((1, 0)), row((2, 3)), at(0))

    assert_close(keys, row((0, 0), (0, 0), (1, 0)).double(), "elementwise", what="keys")
    assert_equal(values, row((0, 0), (0, 0), (2, 3)), "values")
    check(expect(cache.length, int, "length") == 3, f"length is {cache.length}, expected 3")


@task("caches", contract=22)
@KINDS
def test_two_caches_in_turns(student, kind):
    """Two caches with other frequencies, filled in turns, each know their own tokens."""
    slow, fast = make(student, kind, QUARTER), make(student, kind, 2 * QUARTER)

    update(slow, row((1, 0)), row((1, 1)), at(1))
    update(fast, row((1, 0)), row((2, 2)), at(1))
    first = update(slow, row((1, 0)), row((3, 3)), at(0))
    second = update(fast, row((1, 0)), row((4, 4)), at(3))

    assert_close(first[0], row((0, 1), (1, 0)).double(), "elementwise", what="keys of the first")
    assert_equal(first[1], row((1, 1), (3, 3)), "values of the first")
    assert_close(
        second[0], row((-1, 0), (-1, 0)).double(), "elementwise", what="keys of the second"
    )
    assert_equal(second[1], row((2, 2), (4, 4)), "values of the second")
    assert_indices(second[2], [[1, 3]], "key_positions of the second")


def assert_only_read(student, kind: str, *settings: int) -> None:
    """Give views to a cache, twice, and look at all arguments afterwards."""
    frequencies = student.watch(torch.tensor([math.pi / 2, 9.0, math.pi])[::2])
    base = torch.arange(48.0).view(1, 3, 2, 8)  # [B, T, G, D] and more
    k = student.watch(base.transpose(1, 2)[..., 1:5])
    v = student.watch(-base.transpose(1, 2)[..., :4])
    positions = student.watch(torch.tensor([[4, 5], [1, 5], [2, 5]]).T[:1])
    cache, copies = (make(student, kind, frequencies, *settings) for _ in range(2))

    got = update(cache, k, v, positions)

    copied = [watched.value.contiguous() for watched in (k, v, positions)]
    want = update(copies, *copied)
    assert_close(got[0], want[0].double(), "elementwise", dtype=FP32, what="keys of views")
    assert_equal(got[1], want[1], "values of views")
    update(cache, k, v, positions)
    names = ("k", "v", "positions", "frequencies")
    for watched, name in zip((k, v, positions, frequencies), names, strict=True):
        assert_unmodified(watched, name)


@task("caches", contract=23)
@KINDS
def test_arguments_of_a_cache_are_only_read(student, kind):
    """Views of [B, T, G, D], as a model makes them, give what copies give, and stay as they are."""
    assert_only_read(student, kind)


MATHS = ("mul", "add", "sub", "neg", "div", "cos", "sin", "polar", "addcmul", "mm", "bmm", "rsub")


@task("caches", contract=24)
def test_when_each_cache_rotates(student):
    """One token after 60: PostRopeCache turns one key, PreRopeCache does more than that."""
    many, one = torch.ones(1, 1, 60, 8), torch.ones(1, 1, 1, 8)
    work: dict[str, dict[str, int]] = {}
    for kind in ("PostRopeCache", "PreRopeCache"):
        cache = make(student, kind, torch.tensor([1.0, 0.3, 0.1, 0.03]))
        update(cache, many, many, torch.arange(60)[None])
        with student.operators() as ran:
            update(cache, one, one, at(60))
        work[kind] = ran.seen

    post = work["PostRopeCache"].items()
    largest = max((size for name, size in post if name.strip("_") in MATHS), default=0)
    say = f"PostRopeCache computes on tensors of {largest} elements to add one key of 8"
    check(largest < 4 * 60, f"{say}, expected none as large as those of 60 keys")
    same = work["PostRopeCache"] == work["PreRopeCache"]
    check(not same, "PreRopeCache does what PostRopeCache does, expected it to turn all 61 keys")


# --- Task 4: attend --------------------------------------------------------------------------


@dataclass
class Stranger:
    """A cache that you have not written: it returns what it was made with, whatever comes in."""

    keys: Tensor
    values: Tensor
    keys_at: Tensor
    queries_at: Tensor
    length: int = 1  # not true
    asked: list[dict[str, object]] = field(default_factory=list)

    def update(self, k: object, v: object, positions: object) -> Quad:
        self.asked.append({"k": k, "v": v, "positions": positions})
        check(len(self.asked) == 1, "attend called cache.update twice, expected once")
        return self.keys, self.values, self.keys_at, self.queries_at


def ask(
    student,
    cache: Stranger,
    q: Any,
    k: Any = None,
    frequencies: Any = QUARTER,
    flags: tuple[str, ...] = (),
    positions: Any = None,
) -> Tensor:
    """Call attend with a stranger; k, v and positions mean nothing to it."""
    shape = [*getattr(q, "value", q).shape]
    groups = cache.keys.shape[1]
    k = torch.ones(shape[0], groups, *shape[2:], dtype=cache.keys.dtype) if k is None else k
    if positions is None:
        positions = torch.full((shape[0], shape[2]), 3)
    lent = student.lend(cache, methods=("update",), attributes=("length", *flags))
    got = expect(student.attend(q, k, k, positions, lent, frequencies), Tensor, "the result")
    check([*got.shape] == shape, f"the result is {describe(got)}, expected {shape} like q")
    return got


def blind(values: Tensor, keys_at: Tensor, queries_at: Tensor) -> Stranger:
    """A stranger with keys of zeros: a query gets the mean of the values that it sees."""
    return Stranger(torch.zeros_like(values), values, keys_at, queries_at)


FIVE = row((1, 0), (2, 0), (4, 0), (8, 0), (16, 0))


@task("attend", contract=25)
@pytest.mark.parametrize("dtype", [FP32, BF16], ids=["float", "bfloat16"])
def test_what_the_cache_is_given(student, dtype):
    """The cache gets k, v and positions as attend got them: not turned, not converted."""
    cache = Stranger(row((1, 0)).to(dtype), row((5, 5)).to(dtype), at(0), at(0, 0))
    k, v = row((1, 2), (3, 4)).to(dtype), row((5, 6), (7, 8)).to(dtype)
    lent = student.lend(cache, methods=("update",), attributes=("length",))

    student.attend(row((1, 0), (0, 1)).to(dtype), k, v, at(6, 2), lent, QUARTER)

    check(len(cache.asked) == 1, f"attend called cache.update {len(cache.asked)} times, expected 1")
    assert_equal(cache.asked[0]["k"], k, "k, as the cache gets it,")
    assert_equal(cache.asked[0]["v"], v, "v, as the cache gets it,")
    places = expect(cache.asked[0]["positions"], Tensor, "positions, as the cache gets them,")
    assert_indices(places, [[6, 2]], "positions, as the cache gets them,")


@task("attend", contract=26)
@pytest.mark.parametrize(("place", "want"), [(0, 1), (1, 2), (2, 3), (3, 4), (40_001, 2)])
def test_a_query_turns_to_the_key_ahead(student, place, want):
    """q points right and turns by a quarter per position; the keys point right, up, left, down."""
    keys = row((50, 0), (0, 50), (-50, 0), (0, -50))
    values = row((1, 1), (2, 2), (3, 3), (4, 4))
    cache = Stranger(keys, values, at(0, 0, 0, 0), at(place))

    got = ask(student, cache, row((1, 0)))

    assert_close(got, row((want, want)).double(), "attention", dtype=FP32)


@task("attend", contract=26)
def test_frequencies_of_the_query(student):
    """With half a turn per position q points left at position 1, away from the first key."""
    cache = Stranger(row((50, 0), (-50, 0)), row((1, 1), (2, 2)), at(0, 0), at(1))

    got = ask(student, cache, row((1, 0)), frequencies=2 * QUARTER)

    assert_close(got, row((2, 2)).double(), "attention", dtype=FP32)


@task("attend", contract=27)
def test_example_of_what_a_query_sees(student):
    """Keys at 4, 0, 9, 4, 2: a query at 4 sees all but the third, one at 2 the second and last."""
    got = ask(student, blind(FIVE, at(4, 0, 9, 4, 2), at(4, 2)), row((3, 1), (2, 5)))

    want = row(((1 + 2 + 8 + 16) / 4, 0), ((2 + 16) / 2, 0))
    assert_close(got, want.double(), "attention", dtype=FP32)


@task("attend", contract=27)
def test_rows_see_by_their_own_positions(student):
    """Row 0 sees its first three keys, row 1 its last two, row 2 all."""
    values = FIVE.expand(3, 1, 5, 2).clone()
    keys_at = torch.tensor([[0, 1, 2, 3, 4], [9, 8, 7, 6, 5], [5, 5, 5, 5, 5]])

    got = ask(
        student, blind(values, keys_at, torch.tensor([[2], [6], [5]])), torch.ones(3, 1, 1, 2)
    )

    want = torch.tensor([[[[7 / 3, 0]]], [[[12, 0]]], [[[31 / 5, 0]]]])
    assert_close(got, want.double(), "attention", dtype=FP32)


@task("attend", contract=28)
@pytest.mark.parametrize("context", [1, 2, 50])
def test_as_many_keys_as_the_cache_says(student, context):
    """Three queries and 1, 2 or 50 keys, all seen: the mean of all values."""
    values = torch.arange(1.0, context + 1).repeat(2, 1)[:, None, :, None].expand(-1, 1, -1, 2)
    keys_at = torch.arange(context).repeat(2, 1)
    cache = blind(values.contiguous(), keys_at, torch.full((2, 3), 60))

    got = ask(student, cache, torch.ones(2, 1, 3, 2))

    want = torch.full((2, 1, 3, 2), (context + 1) / 2)
    assert_close(got, want.double(), "attention", dtype=FP32)


@task("attend", contract=29)
@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (6, 3), (3, 3), (4, 1)])
def test_heads_that_share_a_key_head(student, heads, groups):
    """Key head g has the value g: of 4 query heads and 2 key heads they read 0, 0, 1, 1."""
    values = torch.arange(float(groups)).view(1, groups, 1, 1).expand(1, groups, 2, 2).clone()

    got = ask(student, blind(values, at(0, 0), at(5)), torch.ones(1, heads, 1, 2))

    want = torch.arange(groups).repeat_interleave(heads // groups).view(1, heads, 1, 1)
    assert_close(got, want.expand(1, heads, 1, 2).double(), "attention", dtype=FP32)


@task("attend", contract=30)
def test_scores_are_divided_by_the_root_of_the_width(student):
    """q · k = 2 ln 3 of width 4 is a score of ln 3: weights 3/4 and 1/4, so 4 and 8 make 5."""
    keys = row((2 * math.log(3), 0, 0, 0), (0, 0, 0, 0))
    cache = Stranger(keys, row((4, 4, 4, 4), (8, 8, 8, 8)), at(0, 0), at(0))

    got = ask(student, cache, row((1, 0, 0, 0)), frequencies=torch.tensor([1.0, 0.1]))

    assert_close(got, row((5, 5, 5, 5)).double(), "attention", dtype=FP32)


@task("attend", contract=30)
@pytest.mark.parametrize("score", [300.0, -300.0])
def test_scores_of_hundreds(student, score):
    """Two equal scores of 300, or of -300, and one far below: weights 1/2, 1/2 and 0."""
    keys = row((score, 0, 0, 0), (score, 0, 0, 0), (score - 200, 0, 0, 0))
    cache = Stranger(keys, row(*[(n, n, n, n) for n in (2, 6, 100)]), at(0, 0, 0), at(0))

    got = ask(student, cache, row((2, 0, 0, 0)), frequencies=torch.tensor([1.0, 0.1]))

    want = row((4, 4, 4, 4)).double()
    # The logarithm of a sum of weights is known to one part in 2**24 of it.
    assert_close(got, want, "attention", dtype=FP32, off=want * 300 * 2.0**-24)


@task("attend", contract=31)
@LOW
def test_attention_in_sixteen_bits(student, draw, dtype):
    """In 16 bits the result is that of float32, but for rounding; the dtype is that of q."""
    q, keys, values = (
        draw.normal(2, heads, n, 4, dtype=dtype) for heads, n in ((4, 3), (2, 6), (2, 6))
    )
    places = torch.arange(6).repeat(2, 1), torch.tensor([[2, 3, 5], [0, 5, 1]])
    frequencies = torch.tensor([1.0, 0.1])
    wide = Stranger(keys.float(), values.float(), *places)
    exact = ask(student, wide, q.float(), frequencies=frequencies)

    got = ask(student, Stranger(keys, values, *places), q, frequencies=frequencies)

    assert_close(got, exact.double(), "attention", dtype=dtype, trusted=exact.to(dtype))


class Talker(Stranger):
    """A stranger that answers each question about itself with yes, or with no."""

    answer = True

    def __getattr__(self, name: str) -> bool:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.answer


QUESTIONS = ("rotated", "is_rotated", "needs_rotation", "pre", "post", "sinks", "window", "kind")


@task("attend", contract=32)
@pytest.mark.parametrize("answer", [True, False])
def test_a_cache_that_says_more(student, answer):
    """A cache with attributes like rotated, sinks or kind is read like any other."""
    cache = Talker(row((50, 0), (0, 50)), row((1, 1), (2, 2)), at(1, 1), at(1))
    cache.answer = answer

    got = ask(student, cache, row((1, 0)), flags=QUESTIONS)

    assert_close(got, row((2, 2)).double(), "attention", dtype=FP32)


def assert_same_as_a_stranger(student, draw, kind: str, *settings: int) -> None:
    """Run attend on a cache of yours, and on a stranger that returns what such a cache returns."""
    frequencies = torch.tensor([1.0, 0.1])
    mine, other = (make(student, kind, frequencies, *settings) for _ in range(2))
    start = 0
    for size in (3, 1, 2, 1):
        q, k, v = (draw.normal(2, heads, size, 4) for heads in (4, 2, 2))
        positions = torch.arange(start, start + size).repeat(2, 1)
        start += size
        stranger = Stranger(*update(other, k, v, positions))
        want = ask(student, stranger, q, k, frequencies, positions=positions)
        got = student.attend(q, k, v, positions, mine, frequencies)
        say = f"the result of attend with a {kind} of {start} tokens"
        assert_close(got, want.double(), "attention", like=q, what=say)


@task("attend", contract=32)
@KINDS
def test_caches_of_yours_and_a_stranger(student, draw, kind):
    """With your cache attend gives what it gives with a stranger that returns the same."""
    assert_same_as_a_stranger(student, draw, kind)


@task("attend", contract=33)
def test_attend_takes_views(student, draw):
    """Tensors seen as [B, H, T, D], the cache's too: as with copies, and all stay as they were."""
    seen = [draw.normal(2, n, heads, 6).transpose(1, 2)[..., 1:5] for heads, n in ((4, 3), (2, 3))]
    keys, values = (draw.normal(2, 5, 2, 6).transpose(1, 2)[..., :4] for _ in range(2))
    places = torch.arange(10).view(5, 2).T, torch.tensor([[9, 4, 2], [1, 8, 9]])
    q, k, frequencies = (
        student.watch(value) for value in (*seen, torch.tensor([1.0, 3.0, 0.1])[::2])
    )

    got = ask(student, Stranger(keys, values, *places), q, k, frequencies)

    copies = Stranger(keys.contiguous(), values.contiguous(), *places)
    want = ask(student, copies, q.value.contiguous(), None, torch.tensor([1.0, 0.1]))
    assert_close(got, want.double(), "attention", dtype=FP32, what="the result for views")
    for watched, name in ((q, "q"), (k, "k and v"), (frequencies, "frequencies")):
        assert_unmodified(watched, name)


@task("attend", contract=34)
def test_attend_is_your_own(student):
    """No attention of torch's runs while attend does."""
    with student.guard():
        ask(student, blind(FIVE, at(0, 1, 2, 3, 4), at(2)), row((3, 1)))


# --- Task 5: SinkCache -----------------------------------------------------------------------


def letters(*tokens: int) -> Tensor:
    """Tokens a, b, c … as the values (0, 10), (1, 10), (2, 10) …, [1, 1, T, 2]."""
    return row(*((float(token), 10.0) for token in tokens))


def feed(cache: Proxy, start: int, size: int, positions: Tensor | None = None) -> Quad:
    """Update with tokens of these numbers, whose keys all are (1, 0)."""
    k = row(*[(1.0, 0.0)] * size)
    places = torch.full((1, size), 77) if positions is None else positions
    return update(cache, k, letters(*range(start, start + size)), places)


@task("sink", contract=35)
def test_example_of_an_eviction(student):
    """With one sink and a window of three, tokens a to f leave a, d, e and f."""
    cache, start = make(student, "SinkCache", QUARTER, 1, 3), 0

    for size, kept in ((2, [0, 1]), (1, [0, 1, 2]), (1, [0, 1, 2, 3]), (2, [0, 3, 4, 5])):
        _, values, *_ = feed(cache, start, size)
        assert_equal(values, letters(*kept), "values")
        start += size


@task("sink", contract=36)
def test_positions_of_the_example(student):
    """Whatever positions say: those of the last update are 0 1 2 3, the new tokens' 2 and 3."""
    cache, start = make(student, "SinkCache", QUARTER, 1, 3), 0

    for size, length in ((2, 2), (1, 3), (1, 4), (2, 4)):
        *_, keys_at, queries_at = feed(cache, start, size, torch.full((1, size), 1000 + start))
        assert_indices(keys_at, [[*range(length)]], "key_positions")
        assert_indices(queries_at, [[*range(length - size, length)]], "query_positions")
        start += size


@task("sink", contract=37)
def test_keys_are_turned_by_their_place_of_now(student):
    """All keys are (1, 0): wherever they came from, they point right, up, left and down."""
    cache, want = make(student, "SinkCache", QUARTER, 1, 3), ((1, 0), (0, 1), (-1, 0), (0, -1))

    for start, size in ((0, 2), (2, 1), (3, 1), (4, 2), (6, 1), (7, 3)):
        keys, *_ = feed(cache, start, size)
        now = row(*want[: min(start + size, 4)])
        assert_close(keys, now.double(), "elementwise", dtype=FP32, what="keys")


@task("sink", contract=37)
def test_a_key_that_has_moved_often(student, draw):
    """After 150 evictions the keys still are what rotate makes of what came, at places of now."""
    k, frequencies = draw.normal(1, 1, 203, 4, dtype=BF16), torch.tensor([1.0, 0.002])
    kept = torch.cat((k[:, :, :2], k[:, :, -51:]), dim=2)
    want = student.rotate(kept, torch.arange(53)[None], frequencies)
    turned = expect(want, Tensor, "the result of rotate").double()
    cache = make(student, "SinkCache", frequencies, 2, 51)

    update(cache, k[:, :, :50], k[:, :, :50], torch.zeros(1, 50, dtype=torch.int64))
    for t in range(50, 203):
        keys, values, *_ = update(cache, k[:, :, t : t + 1], k[:, :, t : t + 1], at(0))

    assert_equal(values, kept, "values")
    assert_close(keys, turned, "elementwise", dtype=BF16, what="keys")


@task("sink", contract=38)
@pytest.mark.parametrize(
    ("sinks", "window", "sizes", "kept"),
    [
        (0, 2, (2, 1, 2), [3, 4]),
        (0, 1, (1, 1, 1), [2]),
        (2, 1, (1, 1, 1, 1, 1), [0, 1, 4]),
        (4, 2, (2, 2, 2, 2, 1), [0, 1, 2, 3, 7, 8]),
        (1, 3, (3, 3, 3), [0, 6, 7, 8]),
        (9, 3, (3, 2), [0, 1, 2, 3, 4]),
        (2, 3, (3, 2), [0, 1, 2, 3, 4]),
        (2, 3, (3, 2, 1), [0, 1, 3, 4, 5]),
    ],
    ids=str,
)
def test_small_sinks_and_windows(student, sinks, window, sizes, kept):
    """What is left after some updates: the first sinks and the last window, at 0, 1, 2, …"""
    cache, start = make(student, "SinkCache", QUARTER, sinks, window), 0

    for size in sizes:
        _, values, keys_at, queries_at = feed(cache, start, size)
        start += size

    assert_equal(values, letters(*kept), "values")
    count = len(kept)
    assert_indices(keys_at, [[*range(count)]], "key_positions")
    assert_indices(queries_at, [[*range(count - sizes[-1], count)]], "query_positions")


@task("sink", contract=39)
@pytest.mark.parametrize("before", [0, 2])
def test_three_tokens_for_a_window_of_two(student, before):
    """They do not fit, though there is room for five sinks: a ValueError that says window."""
    cache = make(student, "SinkCache", QUARTER, 5, 2)
    if before:
        feed(cache, 0, before)

    with student.raises(ValueError, naming="window"):
        feed(cache, before, 3)


@task("sink", contract=40)
def test_tokens_refused_are_not_there(student):
    """After a refused update length and tokens are as before, and the next update goes on."""
    cache = make(student, "SinkCache", QUARTER, 1, 2)
    feed(cache, 0, 2)

    with student.raises(ValueError):
        feed(cache, 90, 3)

    found = expect(cache.length, int, "length")
    check(found == 2, f"after the refused update length is {found}, expected 2")
    _, values, keys_at, _ = feed(cache, 2, 2)
    assert_equal(values, letters(0, 2, 3), "values")
    assert_indices(keys_at, [[0, 1, 2]], "key_positions")


@task("sink", contract=41)
def test_length_stops_growing(student):
    """With two sinks and a window of three, length ends at five."""
    cache = make(student, "SinkCache", QUARTER, 2, 3)

    assert_lengths(cache, (3, 1, 3, 1, 2), (3, 4, 5, 5, 5))


@task("sink", contract=42)
def test_memory_of_a_long_text(student):
    """After 40 windows the cache holds what it held after 4."""
    cache, k = make(student, "SinkCache", QUARTER, 2, 64), torch.ones(8, 4, 64, 2)
    held: list[int] = []

    for _ in range(40):
        update(cache, k, k, torch.zeros(8, 64, dtype=torch.int64))
        held.append(student.held_bytes())

    grown = held[-1] - held[3]
    window = 2 * 4 * k.numel()  # bytes of its keys and values
    say = f"from the 4th to the 40th window of {window} bytes the memory grows by {grown} bytes"
    check(grown < 4 * window, f"{say}, expected it to stay the same")


@task("sink", contract=43)
def test_two_sink_caches_in_turns(student):
    """Caches with other settings, filled in turns, each keep their own tokens."""
    one, two = (
        make(student, "SinkCache", QUARTER, 1, 1),
        make(student, "SinkCache", 2 * QUARTER, 0, 2),
    )

    for token in range(4):
        first = feed(one, token, 1)
        second = feed(two, 50 + token, 1)

    assert_equal(first[1], letters(0, 3), "values of the first")
    assert_equal(second[1], letters(52, 53), "values of the second")
    assert_close(second[0], row((1, 0), (-1, 0)).double(), "elementwise", what="keys of the second")


@task("sink", contract=44)
def test_arguments_of_a_sink_cache_are_only_read(student):
    """Views give what copies give, and stay as they are."""
    assert_only_read(student, "SinkCache", 1, 4)


@task("sink", contract=45)
def test_a_sink_cache_of_yours_and_a_stranger(student, draw):
    """With your SinkCache attend gives what it gives with a stranger that returns the same."""
    assert_same_as_a_stranger(student, draw, "SinkCache", 1, 3)
