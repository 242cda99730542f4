"""Hidden suite of lab 03. What can be counted out is exact: filters are compared bit by bit, beams
with the oracle's in searches whose every decision is clear by a margin.

Draws are judged by chi-square at p < 1e-6, and only if a second secret seed says the same: a right
sampler fails one such law in 10**12 runs, and the two dozen laws here together less than once in
10**10. Draws that must differ are 64 rows of 11 equal chances: by accident they agree once in
11**64.
"""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Mismatch,
    Proxy,
    StudentError,
    assert_close,
    assert_equal,
    assert_new,
    assert_unmodified,
    check,
    describe,
    expect,
    task,
)
from reference import sampling as oracle
from reference.scripted import beams

LOW = [torch.float16, torch.bfloat16]
DTYPES = [torch.float32, *LOW]
INF = math.inf


def name_of(value: object) -> str | None:
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else None


each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
each_low_dtype = pytest.mark.parametrize("dtype", LOW, ids=name_of)


def rows_of(logits: Tensor) -> list[list[float]]:
    return logits.double().tolist()


# --- filters ---------------------------------------------------------------------------------

RULES: dict[str, Callable[[list[float], Any], set[int]]] = {
    "top_k": oracle.kept_by_top_k,
    "top_p": oracle.kept_by_top_p,
    "min_p": oracle.kept_by_min_p,
}
BOUNDARIES = {"top_p": oracle.masses, "min_p": oracle.shares}


def kept(name: str, logits: Tensor, number: float) -> Tensor:
    return oracle.keep(logits, [RULES[name](row, number) for row in rows_of(logits)])


def assert_kept(student: Any, name: str, logits: Tensor, number: float) -> None:
    """Compare a filter that removes tokens with the oracle, bit by bit."""
    assert_equal(getattr(student, name)(logits, number), kept(name, logits, number), name)


def clear(
    draw: Any, name: str, logits: Tensor, low: float, high: float, margin: float = 1e-4
) -> float:
    """Draw a p that is away from every number at which the filter would keep other tokens."""
    found = [boundary for row in rows_of(logits) for boundary in BOUNDARIES[name](row)]
    boundaries = torch.tensor(found, dtype=torch.float64)
    for _ in range(10_000):
        p = low + (high - low) * torch.rand(1, generator=draw.generator).item()
        if float((boundaries - p).abs().min()) > margin:
            return p
    raise RuntimeError("no p is far enough from all boundaries")


def with_gaps(draw: Any, logits: Tensor) -> Tensor:
    """Remove about a third of the tokens, but never three that are chosen in each row."""
    spared = torch.rand(logits.shape, generator=draw.generator).topk(3).indices
    gone = torch.rand(logits.shape, generator=draw.generator) < 0.35
    return logits.masked_fill(gone.scatter(-1, spared, False), -INF)


def assert_penalty(
    student: Any, logits: Tensor, history: list[list[int]], penalty: float, what: str = "the result"
) -> None:
    """Compare with the oracle, and look whether the lists of the history stay as they are."""
    watched = student.watch(history)
    got = student.repetition_penalty(logits, watched, penalty)
    want = oracle.repetition_penalty(logits.double(), history, penalty)
    assert_close(got, want, "elementwise", like=logits, what=what)
    assert_unmodified(watched, "history")


@task("filters", contract=1, gate=True)
@pytest.mark.parametrize("t", [0.6, 2.5, 1.0])
def test_temperature_divides_the_logits(student, draw, t):
    """temperature returns the logits divided by t."""
    logits = draw.normal(5, 13, scale=3)

    got = student.temperature(logits, t)

    assert_close(got, logits.double() / t, "elementwise", like=logits)


@task("filters", contract=1)
@pytest.mark.parametrize("removed", [False, True], ids=["all there", "some removed"])
def test_temperature_of_large_logits(student, draw, removed):
    """temperature divides large logits too, and what was removed stays removed."""
    logits = draw.normal(4, 17, scale=1e3, shift=1e4)
    logits = with_gaps(draw, logits) if removed else logits

    got = student.temperature(logits, 0.035)

    assert_close(got, logits.double() / 0.035, "elementwise", like=logits)


# Beside the numbers that engines have written down: 1e-5, 1e-2, 1 and 2.
HEATS = [1e-30, 9e-6, 1e-3, 0.0099, 0.9999, 1.0001, 2.001, 1e4, 1e30]


@task("filters", contract=1)
@pytest.mark.parametrize("t", HEATS)
def test_temperature_of_any_size(student, draw, t):
    """temperature divides by t, however small or large t is."""
    logits = draw.normal(3, 7) * t

    got = student.temperature(logits, t)

    assert_close(got, logits.double() / t, "elementwise", like=logits)


@task("filters", contract=8)
@each_low_dtype
def test_temperature_of_low_precision(student, draw, dtype):
    """temperature keeps the dtype, and is as exact as the dtype lets it be."""
    logits = with_gaps(draw, draw.normal(4, 17, dtype=dtype, scale=2.0))

    got = student.temperature(logits, 0.035)

    assert_close(got, logits.double() / 0.035, "elementwise", like=logits)


@task("filters", contract=2)
@pytest.mark.parametrize("k", [1, 3, 12, 13, 40])
def test_top_k_keeps_the_k_largest(student, draw, k):
    """top_k keeps the k largest logits of each row, in their places, and removes the others."""
    assert_kept(student, "top_k", draw.normal(5, 13), k)


@task("filters", contract=2)
@pytest.mark.parametrize("k", [1025, 4098, 2**31, 2**40])
def test_top_k_of_thousands(student, draw, k):
    """top_k keeps k of thousands, and all where k is V or anything above."""
    assert_kept(student, "top_k", draw.normal(1, 4099), k)


@task("filters", contract=3)
@pytest.mark.parametrize("k", [1, 10, 50, 96])
def test_top_k_of_equal_logits(student, draw, k):
    """top_k keeps exactly k; of equal logits those with the lower id stay."""
    assert_kept(student, "top_k", draw.integers(-2, 2, 4, 97).float() / 4, k)


@task("filters", contract=4)
@pytest.mark.parametrize(("low", "high"), [(0.02, 0.3), (0.3, 0.7), (0.7, 0.97)])
def test_top_p_keeps_the_smallest_set(student, draw, low, high):
    """top_p keeps the fewest best tokens that hold p or more, the crossing one included."""
    for _ in range(3):
        logits = draw.normal(5, 13, scale=1.5)

        assert_kept(student, "top_p", logits, clear(draw, "top_p", logits, low, high))


@task("filters", contract=5)
def test_top_p_of_equal_logits(student, draw):
    """top_p takes equal logits one at a time, those with the lower id first."""
    for _ in range(5):
        logits = draw.integers(-2, 2, 4, 53).float() / 2

        assert_kept(student, "top_p", logits, clear(draw, "top_p", logits, 0.1, 0.9))


@task("filters", contract=4)
def test_top_p_at_its_ends(student, draw):
    """top_p with p = 1 keeps every token; with a tiny p it keeps the best of each row."""
    logits = draw.normal(6, 9)
    logits[:, 4] = -200.0

    for p in (1.0, 1, 1e-3):
        assert_kept(student, "top_p", logits, p)


def logits_for(draw: Any, chances: list[float]) -> Tensor:
    """Logits of three rows that have these probabilities, each row in an order of its own."""
    return torch.tensor([draw.shuffled(chances) for _ in range(3)]).log()


@task("filters", contract=4)
@pytest.mark.parametrize("p", [1e-30, 1e-8, 1e-5, 0.9985, 0.99985])
def test_top_p_of_a_p_near_its_ends(student, draw, p):
    """top_p keeps the best token for the least p, and not all for a p that is nearly 1."""
    assert_kept(student, "top_p", logits_for(draw, [0.8, 0.19, 0.009, 9e-4, 8e-5, 2e-5]), p)
    assert_kept(student, "top_p", torch.zeros(2, 64), min(p, 1e-5))


@task("filters", contract=8)
@each_low_dtype
def test_probabilities_are_computed_in_float32(student, draw, dtype):
    """top_p and min_p compute probabilities and sums in float32, whatever the input's dtype."""
    for _ in range(2):
        many = draw.normal(3, 1009, dtype=dtype, scale=0.2)
        few = draw.normal(3, 211, dtype=dtype, scale=0.3)

        assert_kept(student, "top_p", many, clear(draw, "top_p", many, 0.4, 0.9, 2e-5))
        assert_kept(student, "min_p", few, clear(draw, "min_p", few, 0.4, 0.8, 3e-5))


@task("filters", contract=8)
@each_low_dtype
def test_what_is_kept_has_the_dtype_of_the_logits(student, draw, dtype):
    """top_k, top_p and min_p give back what they keep in the dtype that it had."""
    logits = draw.integers(-2, 2, 4, 53).to(dtype) / 2

    assert_kept(student, "top_k", logits, 20)
    for name in ("top_p", "min_p"):
        assert_kept(student, name, logits, clear(draw, name, logits, 0.1, 0.9))
    assert_kept(student, "top_p", logits, 1.0)
    assert_kept(student, "min_p", logits, 0.0)


def assert_kept_by_probability(student: Any, draw: Any, logits: Tensor) -> None:
    assert_kept(student, "top_p", logits, clear(draw, "top_p", logits, 0.5, 0.9))
    assert_kept(student, "min_p", logits, clear(draw, "min_p", logits, 0.05, 0.6))


@task("filters", contract=9)
def test_each_row_by_its_own_probabilities(student, draw):
    """top_p and min_p decide for each row by itself, be it flat or peaked."""
    scales = torch.tensor([[0.1], [6.0], [1.0], [2.5]])

    assert_kept_by_probability(student, draw, draw.normal(4, 21) * scales)


@task("filters", contract=9)
@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "repetition_penalty"])
def test_row_of_a_batch_is_as_alone(student, draw, name):
    """A filter gives each row of a batch what it gives the row alone."""
    logits = draw.normal(5, 17) * draw.choice([1.0, 2.0]) + draw.normal(5, 1, scale=20)
    history = [draw.tokens(17, length) for length in (0, 3, 9, 1, 4)]
    numbers = {"temperature": 1.3, "top_k": 6}
    if name in BOUNDARIES:
        numbers[name] = clear(draw, name, logits, 0.3, 0.8)

    def call(some: slice) -> Tensor:
        rows, extra = logits[some], [numbers[name]] if name in numbers else [history[some], 1.4]
        return expect(getattr(student, name)(rows, *extra), Tensor, shape=rows.shape)

    together = call(slice(None))
    for b in range(5):
        assert_close(together[b : b + 1], call(slice(b, b + 1)), "elementwise", like=logits)


@task("filters", contract=10)
@pytest.mark.parametrize("shift", [300.0, -300.0], ids=["far above zero", "far below zero"])
def test_probabilities_of_logits_far_from_zero(student, draw, shift):
    """top_p and min_p are right also where exp of a logit is out of float32's range."""
    assert_kept_by_probability(student, draw, draw.normal(4, 21, shift=shift))


@task("filters", contract=6)
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.2), (0.2, 0.6), (0.6, 0.95)])
def test_min_p_compares_with_the_best(student, draw, low, high):
    """min_p keeps the tokens that are at least p times as probable as the best of their row."""
    for _ in range(3):
        logits = draw.normal(5, 13, scale=1.5)

        assert_kept(student, "min_p", logits, clear(draw, "min_p", logits, low, high))


@task("filters", contract=6)
def test_min_p_of_zero_and_one(student, draw):
    """min_p with p = 0 keeps all, even the hopeless; with p = 1 all that equal the best."""
    logits = draw.integers(-2, 2, 5, 23).float()
    logits[:, 4] = -200.0

    assert_kept(student, "min_p", logits, 0.0)
    assert_kept(student, "min_p", logits, 1.0)


@task("filters", contract=6)
@pytest.mark.parametrize("p", [1e-30, 1e-20, 1e-8, 9e-6, 1e-3, 0.9985])
def test_min_p_of_a_p_near_its_ends(student, draw, p):
    """min_p compares with p times the best however small p is, and for a p that is nearly 1."""
    shares = [1.0, 0.9995, 0.9975, 1e-2, 1e-4, 3e-6, 1e-12, 1e-25, 1e-35]

    assert_kept(student, "min_p", logits_for(draw, shares), p)


HISTORY = [[3, 3, 8, 3], [], [0, 14, 6, 6, 9, 1], [14], [2, 5, 2]]


@task("filters", contract=7)
@pytest.mark.parametrize("penalty", [1.3, 0.7, 2])
def test_penalty_follows_the_sign(student, draw, penalty):
    """repetition_penalty divides positive logits and multiplies negative ones, once for each id."""
    logits = draw.normal(5, 15, scale=2)

    assert_penalty(student, logits, HISTORY, penalty)
    assert_penalty(student, -logits, HISTORY, penalty, "the result for the opposite logits")
    assert_penalty(student, logits, [[]] * 5, penalty, "the result without any history")


@task("filters", contract=7)
@pytest.mark.parametrize("penalty", [1e-4, 0.0099, 0.999, 1.001, 2.001, 10.1, 1e4])
def test_penalty_of_any_size(student, draw, penalty):
    """repetition_penalty divides and multiplies by any penalty above 0, near 1 and far from it."""
    logits = draw.normal(5, 15)
    logits[0, 3] = logits[2, 6] = 0.0

    assert_penalty(student, logits, HISTORY, penalty)


@task("filters", contract=8)
@each_low_dtype
def test_penalty_of_low_precision(student, draw, dtype):
    """repetition_penalty keeps the dtype, and what was removed stays removed."""
    assert_penalty(student, with_gaps(draw, draw.normal(5, 15, dtype=dtype)), HISTORY, 1.7)


@task("filters", contract=14)
@pytest.mark.parametrize("token", [15, -1, 4000], ids=["V", "below zero", "far above"])
def test_penalty_refuses_an_unknown_id(student, draw, token):
    """An id outside the vocabulary is a ValueError that names history."""
    history = [[3], [], [5, token, 2]]

    with student.raises(ValueError, naming="history"):
        student.repetition_penalty(draw.normal(3, 15), history, 1.2)


@task("filters", contract=11)
def test_removed_tokens_stay_removed(student, draw):
    """A token that is -inf already stays so, and takes no place from the others."""
    for _ in range(3):
        logits = with_gaps(draw, draw.normal(5, 14))

        for k in (2, 6, 13):
            assert_kept(student, "top_k", logits, k)
        for p in (clear(draw, "top_p", logits, 0.4, 0.95), 1.0):
            assert_kept(student, "top_p", logits, p)
        for p in (0.0, 1.0, clear(draw, "min_p", logits, 0.1, 0.6)):
            assert_kept(student, "min_p", logits, p)


def every_row(vocab: int) -> Tensor:
    """All rows of the logits -inf, 0 and 1, but the one in which nothing is left."""
    rows = [*itertools.product((-INF, 0.0, 1.0), repeat=vocab)]
    return torch.tensor(rows[1:])


@task("filters", contract=9)
@pytest.mark.parametrize("vocab", [1, 2, 3])
def test_every_row_of_few_tokens(student, draw, vocab):
    """Of one, two and three tokens each may be removed, or equal another, in any row."""
    logits = every_row(vocab)

    for k in range(1, vocab + 2):
        assert_kept(student, "top_k", logits, k)
    for low, high in ((0.01, 0.2), (0.2, 0.5), (0.5, 0.99)):
        for name in BOUNDARIES:
            assert_kept(student, name, logits, clear(draw, name, logits, low, high))
    assert_kept(student, "top_p", logits, 1.0)
    assert_kept(student, "min_p", logits, 0.0)
    assert_kept(student, "min_p", logits, 1.0)


@task("filters", contract=10)
def test_logits_from_far_below_to_far_above(student, draw):
    """Logits of one row may lie a million above and below zero, and all of a row be equal."""
    rows = [draw.shuffled([1e6, 1e6, 999_700.0, 0.0, -1e6, -INF, 1.0]) for _ in range(3)]
    rows += [[level] * 7 for level in (-1e6, -1e4, 0.0, 1e6)]
    logits = torch.tensor(rows)

    for k in (1, 2, 4, 6):
        assert_kept(student, "top_k", logits, k)
    for p in (1e-9, 0.36, 0.64, 1.0):  # halves and sevenths are far, whatever rounding does
        assert_kept(student, "top_p", logits, p)
    for p in (0.0, 1e-30, 0.5, 1.0):
        assert_kept(student, "min_p", logits, p)


@task("filters", contract=9)
def test_ids_of_more_than_16_bits(student, draw):
    """Filters work for 66,000 tokens, of which those behind the first 65,536 are the best."""
    logits = draw.normal(1, 66_003)
    best = [65_535, 65_536, 66_002]
    logits[0, best] = torch.tensor(draw.shuffled([20.0, 21.0, 22.0]))

    assert_kept(student, "min_p", logits, 0.3)
    assert_penalty(student, logits, [best], 1.5)


FILTERS: dict[str, tuple[Any, ...]] = {
    "temperature": (1.7,),
    "top_k": (4,),
    "top_p": (0.6,),
    "min_p": (0.3,),
    "repetition_penalty": ([[1, 5], [2], [], [7, 7]], 1.4),
}


@task("filters", contract=12)
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=name_of)
@pytest.mark.parametrize("name", FILTERS)
def test_filters_leave_the_logits_alone(student, draw, name, dtype):
    """A filter returns new logits; the old ones, which may be a view, are not modified."""
    view = draw.normal(29, 4, dtype=dtype)[3:25:2].T
    watched, args = student.watch(view), FILTERS[name]

    got = expect(getattr(student, name)(watched, *args), Tensor)

    assert_unmodified(watched, "logits")
    assert_equal(got, getattr(student, name)(view.contiguous(), *args), "the result for a view")


NOTHING_TO_DO: dict[str, tuple[Any, ...]] = {
    "temperature": (1.0,),
    "top_k": (9,),
    "top_p": (1.0,),
    "min_p": (0.0,),
    "repetition_penalty": ([[], [], []], 1.3),
}


@task("filters", contract=12)
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=name_of)
@pytest.mark.parametrize("name", [*NOTHING_TO_DO, "repetition_penalty of 1"])
def test_filters_return_new_logits(student, draw, name, dtype):
    """What a filter returns is new, also where it has nothing to do: writing to it is safe."""
    logits = draw.normal(3, 9, dtype=dtype)
    watched, args = student.watch(logits), NOTHING_TO_DO.get(name, ([[1], [2, 8], []], 1.0))

    got = expect(student.overwritten(name.partition(" ")[0], watched, *args), Tensor)

    what = "what a filter returns that has nothing to do"
    assert_equal(got.float(), logits.float(), what)  # the dtype is another contract
    assert_new(watched, "logits")


OUT_OF_RANGE = [("temperature", "t", 0.0), ("temperature", "t", -0.5)]
OUT_OF_RANGE += [("top_k", "k", 0), ("top_k", "k", -2)]
OUT_OF_RANGE += [("top_p", "p", 0.0), ("top_p", "p", -0.1), ("top_p", "p", 1.01)]
OUT_OF_RANGE += [("min_p", "p", -0.01), ("min_p", "p", 1.2)]


@task("filters", contract=13)
@pytest.mark.parametrize(("name", "argument", "number"), OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused(student, draw, name, argument, number):
    """A number outside the range of its filter is a ValueError that names the argument."""
    with student.raises(ValueError, naming=argument):
        getattr(student, name)(draw.normal(3, 8), number)


@task("filters", contract=9)
def test_one_row_and_many_tokens(student, draw):
    """Filters work for one row and for a vocabulary of thousands."""
    logits = draw.normal(1, 5003, scale=2)

    assert_kept(student, "top_k", logits, 777)
    assert_kept(student, "top_p", logits, clear(draw, "top_p", logits, 0.3, 0.6, 2e-5))
    assert_kept(student, "min_p", logits, clear(draw, "min_p", logits, 0.1, 0.4, 1e-5))
    assert_penalty(student, logits, [[5002, 0, 77]], 1.1)


@task("filters", contract=11)
def test_filters_follow_each_other(student, draw):
    """What one filter returns another takes, with filters between them that nobody has seen."""
    logits = draw.normal(6, 16, scale=2)
    history = [draw.tokens(16, 5) for _ in range(6)]

    first = expect(student.repetition_penalty(logits, history, 1.5), Tensor)
    want = oracle.repetition_penalty(logits.double(), history, 1.5)
    assert_close(first, want, "elementwise", like=logits)
    soft = expect(student.temperature(first, 1.6), Tensor)
    assert_close(soft, want / 1.6, "elementwise", like=logits)
    for name in ("top_p", "min_p"):
        fewer = with_gaps(draw, soft)
        assert_kept(student, "top_k", fewer, 7)
        few = kept("top_k", fewer, 7).roll(5, -1)
        assert_kept(student, name, few, clear(draw, name, few, 0.2, 0.8))


# --- sampler ---------------------------------------------------------------------------------


def make(student: Any, *filters: Any, **options: Any) -> Proxy:
    """Make a sampler; filters of ours are lent to it."""
    lent = [student.lend(each, keep=True) for each in filters]
    return expect(student.Sampler(*lent, **options), Proxy, "Sampler(...)")


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def secret(draw: Any) -> int:
    """Draw a seed below 2**31: the CPU's generator tells no more bits apart than 32."""
    return draw.integer(0, 2**31)


def drawn(sampler: Proxy, logits: Any, *args: Any, of: tuple[int, int] | None = None) -> list[int]:
    """Draw once for every row, and check the form of the answer."""
    rows, vocab = of or logits.shape
    got = expect(sampler(logits, *args), Tensor, "the tokens")
    check(got.dtype == torch.int64, f"the tokens should be int64 [B], not {describe(got)}")
    expect(got, Tensor, "the tensor of the tokens", shape=[rows])
    tokens = got.tolist()
    outside = [token for token in tokens if not 0 <= token < vocab]
    check(not outside, f"token {outside[:1]} was drawn, expected one from 0 to {vocab - 1}")
    return tokens


Samples = list[tuple[list[int], list[float]]]  # what was drawn, and by which chances


def assert_law(draw: Any, sample: Callable[[int], Samples], what: str = "the tokens") -> None:
    """Fail if one of the samples is beyond belief under two secret seeds."""
    suspects: dict[int, str] = {}
    for attempt in range(2):
        unlikely: dict[int, str] = {}
        for i, (drawn_, chances) in enumerate(sample(secret(draw))):
            found = Counter(drawn_)
            counts = [found[x] for x in range(len(chances))]
            if oracle.chi_square_p(counts, chances) < 1e-6 and (not attempt or i in suspects):
                unlikely[i] = furthest(counts, chances)
        suspects = unlikely
        if not suspects:
            return
    law = "do not have the probabilities of the softmax of the filtered logits"
    raise Mismatch(f"{what} {law}: {next(iter(suspects.values()))}")


def furthest(counts: Sequence[int], chances: Sequence[float]) -> str:
    """Say of the outcome that is furthest off how often it came, and how often it should have."""
    worst, total = oracle.furthest(counts, chances), sum(counts)
    return (
        f"of {len(counts)} outcomes, number {worst} came {counts[worst]} times in {total}, "
        f"expected about {total * chances[worst]:.0f}"
    )


def laws_of(logits: Tensor) -> list[list[float]]:
    return [oracle.probabilities(row) for row in rows_of(logits)]


def by_row(sampler: Proxy, logits: Tensor, copies: int, *args: Any) -> Samples:
    """Draw for copies of all rows at once: each row has a law of its own."""
    tokens = drawn(sampler, logits.repeat(copies, 1), *args)
    return [(tokens[i :: len(logits)], law) for i, law in enumerate(laws_of(logits))]


FLAT = torch.zeros(64, 11)


class Filter:
    """A filter of ours that notes what it was given and what it gave."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self.function = function
        self.given: list[Tensor] = []
        self.result = torch.empty(0)

    def __call__(self, logits: Any) -> Tensor:
        expect(logits, Tensor, "what a filter is given")
        right = logits.is_floating_point() and logits.dim() == 2
        check(right, f"a filter was given {describe(logits)}, expected logits [B, V]")
        many = f"a filter was called {len(self.given)} times, expected once for each call"
        check(len(self.given) < 100, many)
        self.given.append(logits)
        self.result = self.function(logits)
        return self.result


def assert_chain(logits: Tensor, filters: Sequence[Filter]) -> None:
    """Compare what each filter was given last with what the one before it returned."""
    before = logits
    for number, each in enumerate(filters, 1):
        check(bool(each.given), f"filter {number} was called 0 times, expected once")
        assert_equal(each.given[-1].double(), before.double(), f"what filter {number} was given")
        before = each.result


def roll(logits: Tensor) -> Tensor:
    return logits.roll(3, -1)


def reverse(logits: Tensor) -> Tensor:
    return logits.flip(-1)


def only_best(logits: Tensor) -> Tensor:
    return oracle.keep(logits, [{int(row.argmax())} for row in logits])


@task("sampler", contract=15, gate=True)
def test_draws_follow_the_softmax(student, draw):
    """Each row's token is drawn with the probabilities of the softmax of its own logits."""
    logits = draw.normal(3, 7, scale=0.8)
    sampler = make(student)

    assert_law(draw, lambda seed: by_row(sampler, logits, 2000, seeded(seed)))


@task("sampler", contract=16)
@each_low_dtype
def test_draws_of_low_precision_follow_the_softmax(student, draw, dtype):
    """Logits of low precision are drawn from like those of float32."""
    logits = draw.normal(3, 7, dtype=dtype, scale=0.8)
    sampler = make(student)

    assert_law(draw, lambda seed: by_row(sampler, logits, 2000, seeded(seed)))


@task("sampler", contract=15)
@pytest.mark.parametrize("shift", [0.0, 9e4, -9e4], ids=["zero", "far above", "far below"])
def test_draws_of_the_global_generator(student, draw, shift):
    """Without a generator draws follow the softmax too, also if exp of a logit is out of range."""
    logits = draw.normal(2, 5, scale=0.7, shift=shift)
    sampler = make(student)

    assert_law(draw, lambda _: by_row(sampler, logits, 1200))


@task("sampler", contract=17, gate=True)
def test_only_token_that_is_left_is_drawn(student, draw):
    """A token of probability 0 is never drawn: where one is left, it is that one."""
    logits = draw.normal(9, 16)

    got = drawn(make(student), only_best(logits), seeded(secret(draw)))

    assert_equal(got, logits.argmax(-1).tolist(), "the list of the tokens")


@task("sampler", contract=17)
@pytest.mark.parametrize("vocab", [1, 2])
def test_vocabularies_of_one_and_two(student, draw, vocab):
    """Of a vocabulary of one token, or two of which one is left, that one comes in every row."""
    sampler, greedy = make(student), make(student, greedy=True)

    for rows in (1, 2):
        logits = only_best(draw.normal(rows, vocab))
        for each in (sampler, greedy):
            got = drawn(each, logits, seeded(secret(draw)))
            assert_equal(got, logits.argmax(-1).tolist(), "the list of the tokens")


def some_views(logits: Tensor) -> dict[str, Tensor]:
    """The same logits [B, V] in other places of memory, with others between and around them."""
    rows, vocab = logits.shape
    wide = torch.full((rows + 1, 2 * vocab + 5), 90.0)
    padded, spread, first = wide.clone(), wide.clone(), logits[:1]
    padded[1:, :vocab], spread[:-1, 5::2] = logits, logits
    return {
        "a padded vocabulary": padded[1:, :vocab],
        "every second column": spread[:-1, 5::2],
        "columns that are rows in memory": logits.T.contiguous().T,
        "an axis moved": logits[None].movedim(-1, 0).contiguous().movedim(0, -1)[0],
        "one row for all": first.expand(rows, vocab),
    }


@task("sampler", contract=17)
def test_draws_from_views(student, draw):
    """What is left is drawn wherever the logits lie in memory."""
    logits = only_best(draw.normal(5, 12))
    sampler, greedy_ = make(student), make(student, greedy=True)

    for name, view in some_views(logits).items():
        want, what = view.argmax(-1).tolist(), f"the list of the tokens of {name}"
        assert_equal(drawn(sampler, view, seeded(secret(draw))), want, what)
        assert_equal(drawn(greedy_, view), want, what)


@task("sampler", contract=17)
def test_more_tokens_than_16_bits_can_count(student, draw):
    """Of 66,000 tokens the one that is left is drawn, behind the first 65,536 too."""
    best = [65_535, 65_536, 66_002, *draw.tokens(60_000, 1)]
    logits = torch.full((len(best), 66_003), -200.0)
    logits[range(len(best)), best] = 0.0

    assert_equal(drawn(make(student), logits, seeded(secret(draw))), best, "the list of the tokens")


@task("sampler", contract=17)
def test_long_tail(student, draw):
    """Thousands of tokens that hold half of all together come in half of the draws."""
    size, best = 8_000, draw.integer(0, 8_000)
    logits = torch.zeros(1, size)
    logits[0, best] = math.log(size)
    sampler = make(student)

    def sample(seed: int) -> Samples:
        tokens = drawn(sampler, logits.expand(600, size), seeded(seed))
        return [([0 if x == best else 1 + x // 2000 for x in tokens], shares)]

    weights = [size] + [2000 - (best // 2000 == part) for part in range(4)]
    shares = [weight / sum(weights) for weight in weights]
    assert_law(draw, sample, "tokens of the tail")


@task("sampler", contract=18)
def test_filters_apply_in_order(student, draw):
    """Filters get the logits one after another, in the order in which they were passed."""
    logits = draw.normal(5, 13)
    filters = [Filter(roll), Filter(reverse), Filter(only_best)]
    sampler = make(student, *filters)

    got = drawn(sampler, logits, seeded(secret(draw)))

    assert_chain(logits, filters)
    assert_equal(got, filters[-1].given[0].argmax(-1).tolist(), "the list of the tokens")


def own(student: Any, name: str, number: float) -> Filter:
    """The submission's filter, or none where it is unusable: it is judged in another task."""

    def apply(logits: Tensor) -> Tensor:
        try:
            got = getattr(student, name)(logits, number)
        except StudentError:
            return logits
        usable = isinstance(got, Tensor) and got.is_floating_point() and got.shape == logits.shape
        usable = usable and not got.isnan().any() and bool(got.amax(-1).isfinite().all())
        usable = usable and torch.equal(got, got[:3].repeat(len(got) // 3, 1))
        return got if usable else logits

    return Filter(apply)


@task("sampler", contract=18)
def test_filters_of_both_sides_compose(student, draw):
    """The submission's filters work with one that it has never seen; what is left is drawn."""
    logits = draw.normal(3, 12, scale=1.5)
    banned = torch.tensor(draw.shuffled(range(12))[:4])
    ban = Filter(lambda given: given.index_fill(-1, banned, -INF))
    filters = [own(student, "temperature", 1.4), ban, own(student, "top_k", 4), Filter(roll)]
    sampler = make(student, *filters)

    def sample(seed: int) -> Samples:
        tokens = drawn(sampler, logits.repeat(1500, 1), seeded(seed))
        assert_chain(logits.repeat(1500, 1), filters)
        laws = laws_of(filters[-1].result[:3])
        return [(tokens[i::3], law) for i, law in enumerate(laws)]

    assert_law(draw, sample)


@task("sampler", contract=19)
def test_rows_draw_independently(student, draw):
    """Equal rows draw each on its own: a pair of rows has the product's probabilities."""
    logits = draw.normal(1, 4, scale=0.4)
    chances = laws_of(logits)[0]
    pairs = [a * b for a in chances for b in chances]
    sampler = make(student)

    def sample(seed: int) -> Samples:
        tokens = drawn(sampler, logits.expand(8000, 4).contiguous(), seeded(seed))
        partners = (tokens[::2], tokens[1::2]), (tokens[:4000], tokens[4000:])
        return [([4 * a + b for a, b in zip(*pair, strict=True)], pairs) for pair in partners]

    assert_law(draw, sample, "pairs of rows")


def same_draws(what: str, tokens: list[int]) -> str:
    return f"{what} gave {tokens[:5]}... like the one before, expected other tokens"


@task("sampler", contract=20)
def test_one_row_under_many_seeds(student, draw):
    """Each seed gives a draw of its own, and over many seeds they follow the softmax."""
    logits = draw.normal(1, 5, scale=0.7)
    sampler = make(student)

    def sample(_: int) -> Samples:
        tokens = [drawn(sampler, logits, seeded(secret(draw)))[0] for _ in range(600)]
        return [(tokens, laws_of(logits)[0])]

    assert_law(draw, sample, "tokens under 600 seeds")


def assert_law_of_many(student: Any, draw: Any, dtype: torch.dtype) -> None:
    """Draw many times for each of many tokens: bfloat16's numbers never reach some of them."""
    logits = draw.normal(1, 401, dtype=dtype, scale=0.25)
    sampler = make(student)

    def sample(seed: int) -> Samples:
        tokens = drawn(sampler, logits.expand(24_000, -1), seeded(seed))
        return [(tokens, laws_of(logits)[0])]

    assert_law(draw, sample)


@task("sampler", contract=17)
def test_draws_from_many_tokens(student, draw):
    """Among hundreds of tokens each can come: nothing is cut off."""
    assert_law_of_many(student, draw, torch.float32)


@task("sampler", contract=16)
@each_low_dtype
def test_low_precision_reaches_many_tokens(student, draw, dtype):
    """Among hundreds of tokens of low precision each can come: sums and draws are fine."""
    assert_law_of_many(student, draw, dtype)


@task("sampler", contract=20)
def test_equal_seeds_give_equal_draws(student, draw):
    """Draws repeat with the seed of the generator, whatever was drawn elsewhere in between."""
    seed, other = secret(draw), secret(draw)
    sampler, again = make(student), make(student)

    first = drawn(sampler, FLAT, seeded(seed))
    drawn(sampler, FLAT)
    different = drawn(sampler, FLAT, seeded(other))

    assert_equal(drawn(sampler, FLAT, seeded(seed)), first, "the list drawn with the same seed")
    assert_equal(drawn(again, FLAT, seeded(seed)), first, "the list drawn by another sampler")
    check(different != first, same_draws("a draw with another seed", different))
    named = expect(sampler(FLAT, generator=seeded(seed)), Tensor, "the tokens")
    assert_equal(named.tolist(), first, "the list drawn with generator= by name")


@task("sampler", contract=21)
def test_generator_goes_on_from_draw_to_draw(student, draw):
    """The generator goes on: a draw takes it where the one before has left it."""
    seed, sampler = secret(draw), make(student)
    one, another = student.generator(seed), student.generator(seed)

    draws = [drawn(sampler, FLAT, one) for _ in range(3)]

    for last, new in pairwise(draws):
        check(new != last, same_draws("the next draw from one generator", new))
    again = [drawn(make(student), FLAT, another) for _ in range(3)]
    assert_equal(again, draws, "the draws from another generator of that seed")


@task("sampler", contract=22)
def test_global_generator_is_left_alone(student, draw):
    """Without a generator each call draws anew, and calls with one do not reset the global one."""
    seed = secret(draw)
    sampler = make(student)

    def after_a_seed() -> list[int]:
        drawn(sampler, FLAT, seeded(seed))
        return drawn(sampler, FLAT)

    first, second = drawn(sampler, FLAT), drawn(sampler, FLAT, None)
    check(first != second, same_draws("the next call without a generator", second))
    first, second = after_a_seed(), after_a_seed()
    what = "a call without a generator that follows one with a seed"
    check(first != second, same_draws(what, second))


@task("sampler", contract=25)
def test_samplers_keep_nothing(student, draw):
    """A sampler keeps nothing from call to call, and nothing of another sampler."""
    sampler = make(student, only_best)
    other = make(student, reverse, only_best)

    for rows, vocab in ((4, 9), (1, 31), (7, 2003)):
        logits = draw.normal(rows, vocab)
        got = drawn(sampler, logits, seeded(secret(draw)))
        assert_equal(got, logits.argmax(-1).tolist(), "the list of the tokens")
        got = drawn(other, logits, seeded(secret(draw)))
        assert_equal(got, logits.flip(-1).argmax(-1).tolist(), "the other sampler's list")


@task("sampler", contract=25)
@pytest.mark.parametrize("kind", ["plain", "filtered", "greedy"])
def test_sampler_leaves_the_logits_alone(student, draw, kind):
    """The logits, which may be a view, are not modified."""
    sampler = make(student, *[roll] * (kind == "filtered"), greedy=kind == "greedy")
    watched = student.watch(draw.normal(6, 40)[:, 4:37:3])

    drawn(sampler, watched, seeded(secret(draw)), of=(6, 11))

    assert_unmodified(watched, "logits")


RANDOM = set(
    "bernoulli bernoulli_ binomial cauchy_ exponential exponential_ geometric_ log_normal_ "
    "multinomial normal normal_ poisson rand rand_like randint randint_like randn randn_like "
    "random random_ randperm uniform uniform_".split()
)


@task("sampler", contract=23)
@each_dtype
def test_greedy_takes_the_largest(student, draw, dtype):
    """A greedy sampler takes the id of each row's largest logit and draws no random number."""
    base = torch.stack([torch.randperm(58, generator=draw.generator) for _ in range(7)])
    logits = (base.to(dtype) / 64)[:, 1::2]
    sampler = make(student, greedy=True)

    for args in ((), (seeded(secret(draw)),)):
        with student.operators() as operators:
            got = drawn(sampler, logits, *args)
        assert_equal(got, logits.argmax(-1).tolist(), "the list of the tokens")
        random_ = sorted(RANDOM & set(operators.seen))
        check(not random_, f"a greedy sampler called {random_}, expected no random number")


@task("sampler", contract=23)
def test_greedy_by_a_hair(student, draw):
    """A greedy sampler tells logits of float32 apart that differ in their last digits."""
    logits = torch.full((6, 17), 1.0)
    best = draw.tokens(17, 6)
    logits[range(6), best] += 2**-20

    assert_equal(drawn(make(student, greedy=True), logits), best, "the list of the tokens")


@task("sampler", contract=24)
def test_greedy_refuses_filters(student):
    """Greedy with filters is a ValueError when the sampler is made."""
    with student.raises(ValueError):
        student.Sampler(student.lend(roll, keep=True), greedy=True)


# --- beam ------------------------------------------------------------------------------------


def puzzle_of(draw: Any, **options: Any) -> beams.Puzzle:
    return beams.clear_puzzle(random.Random(draw.integer(0, 2**60)), **options)


class Lent:
    """The model as the submission may call it: answers rows, refuses nonsense, stops floods."""

    def __init__(self, model: beams.HistoryModel) -> None:
        self.model = model
        self.rows = 0

    def __call__(self, tokens: Any) -> Tensor:
        expect(tokens, Tensor, "what the model is given")
        whole = tokens.dtype in (torch.int64, torch.int32) and tokens.dim() == 2 and tokens.numel()
        check(bool(whole), f"the model takes integers [B, T], not {describe(tokens)}")
        long = f"the model was given {tokens.shape[1]} tokens of a sequence, expected far fewer"
        check(tokens.shape[1] < 100, long)
        self.rows += tokens.shape[0]
        many = f"the model was given {self.rows} sequences, expected far fewer"
        check(self.rows < 5000, many)
        ids, last = (int(tokens.min()), int(tokens.max())), self.model.vocab - 1
        inside = ids[0] >= 0 and ids[1] <= last
        check(inside, f"the model was given ids from {ids[0]} to {ids[1]}, expected 0 to {last}")
        rows = [self.model(row) for row in tokens.tolist()]
        return torch.tensor(rows, dtype=self.model.dtype)


def search(student: Any, puzzle: beams.Puzzle, *args: Any, prompt: Any = None, **named: Any) -> Any:
    model = student.lend(Lent(puzzle.model))
    prompt = puzzle.prompt if prompt is None else prompt
    limits = puzzle.num_beams, puzzle.max_new_tokens
    return student.beam_search(model, prompt, *limits, puzzle.eos_id, *args, **named)


def assert_beams(got: Any, want: list[beams.Hypothesis], length_penalty: float = 1.0) -> None:
    """Compare beams one by one: their number, tokens, order and scores."""
    found = expect(got, list[tuple[list[int], float]], "the list of beams")
    different = len({tuple(tokens) for tokens, _ in found})
    twice = f"of {len(found)} beams {different} are different, expected no two equal ones"
    check(different == len(found), twice)
    check(len(found) == len(want), f"{len(found)} beams came back, expected {len(want)}")
    for place, ((tokens, score), (best, right)) in enumerate(zip(found, want, strict=True)):
        check(tokens == best, f"beam {place} is {tokens[:9]}, expected {best[:9]}")
        allowed = 1e-4 * len(best) ** -length_penalty + 1e-5 * abs(right)
        close = abs(score - right) <= allowed
        check(close, f"the score of beam {place}, {best[:9]}, is {score:.6g}, expected {right:.6g}")


def verify(student: Any, puzzle: beams.Puzzle) -> None:
    got = search(student, puzzle, puzzle.length_penalty)
    assert_beams(got, puzzle.solve().beams, puzzle.length_penalty)


def greedy(puzzle: beams.Puzzle) -> list[int]:
    return puzzle.solve(num_beams=1).beams[0][0]


NO_EOS: dict[str, Any] = {"eos_bonus": lambda length: -30.0}
OFTEN: dict[str, Any] = {"eos_bonus": lambda length: 0.8}
PENALTIES = [0.0, 0.6, 1.0, 2.0, -0.7]


@task("beam", contract=26, gate=True)
def test_beams_are_the_best_of_each_step(student, draw):
    """Each step keeps the num_beams best extensions; they come back best first, with scores."""
    puzzle = puzzle_of(
        draw,
        num_beams=3,
        max_new_tokens=5,
        vocab=11,
        length=3,
        such_that=lambda puzzle, found: greedy(puzzle) != found[0][0],
        **NO_EOS,
    )

    verify(student, puzzle)


@task("beam", contract=27)
@pytest.mark.parametrize("length_penalty", PENALTIES)
def test_wide_beam_is_exhaustive(student, draw, length_penalty):
    """With room for every sequence beam search finds them all, in the order of their scores."""
    options = {"num_beams": 150, "max_new_tokens": 4, "vocab": 4, **OFTEN}
    puzzle = puzzle_of(draw, length_penalty=length_penalty, **options)

    got = search(student, puzzle, length_penalty)

    assert_beams(got, puzzle.best(), length_penalty)


@task("beam", contract=29)
@pytest.mark.parametrize("length_penalty", PENALTIES)
@pytest.mark.parametrize("num_beams", [2, 3, 5])
def test_beams_end_at_different_depths(student, draw, num_beams, length_penalty):
    """Finished beams keep slot and score and compete, by score, with those that go on."""

    def mixed(puzzle: beams.Puzzle, found: list[beams.Hypothesis]) -> bool:
        """Lengths differ, unless the penalty leaves that to long odds."""
        lengths = {len(tokens) for tokens, _ in found}
        return not -0.5 < length_penalty < 1.5 or len(lengths) > 1

    for bonus in (0.4, 1.2):
        options = {"eos_bonus": lambda length, bonus=bonus: bonus, "such_that": mixed}
        options |= {"num_beams": num_beams, "length_penalty": length_penalty}

        verify(student, puzzle_of(draw, max_new_tokens=6, **options))


@task("beam", contract=26)
@pytest.mark.parametrize("num_beams", [1, 2])
def test_narrow_beam_may_miss_the_best(student, draw, num_beams):
    """What has lost its slot is gone, even if its continuation would have been the best of all."""
    puzzle = puzzle_of(
        draw,
        num_beams=num_beams,
        max_new_tokens=4,
        vocab=5,
        such_that=lambda puzzle, found: found[0][0] != puzzle.best()[0][0],
        **NO_EOS,
    )

    verify(student, puzzle)


@task("beam", contract=31)
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_search_ends_when_all_beams_are_finished(student, draw, length_penalty):
    """When every kept beam has ended the search is over, long before max_new_tokens."""
    options = {"eos_bonus": lambda length: 9.0 if length > 6 else 1.5}
    options |= {"length_penalty": length_penalty, "max_new_tokens": 2000}

    verify(student, puzzle_of(draw, num_beams=3, **options))


@task("beam", contract=30)
@pytest.mark.parametrize("num_beams", [2, 4])
def test_finished_beam_loses_its_slot_to_better_ones(student, draw, num_beams):
    """A finished beam stays only while its score is among the num_beams best."""

    def evicts(puzzle: beams.Puzzle, found: list[beams.Hypothesis]) -> bool:
        """EOS alone was kept in the first step, and is gone in the end."""
        alone = [puzzle.eos_id]
        first = [tokens for tokens, _ in puzzle.solve(max_new_tokens=1).beams]
        return alone in first and alone not in [tokens for tokens, _ in found]

    puzzle = puzzle_of(
        draw,
        num_beams=num_beams,
        max_new_tokens=5,
        length=4,
        eos_bonus=lambda length: 2.0 if length == 4 else -1.0,
        such_that=evicts,
    )

    verify(student, puzzle)


@task("beam", contract=32)
def test_impossible_tokens_are_never_kept(student, draw):
    """A beam of probability 0 is not kept, even if slots stay free."""
    options = {"num_beams": 30, "max_new_tokens": 3, "vocab": 6, "impossible": 0.6}

    verify(student, puzzle_of(draw, such_that=lambda _, found: 3 < len(found) < 25, **options))


@task("beam", contract=34)
def test_no_new_tokens(student, draw):
    """max_new_tokens = 0 gives one empty beam with score 0.0."""
    puzzle = puzzle_of(draw, num_beams=3, max_new_tokens=0)

    assert_equal(search(student, puzzle), [([], 0.0)], "the list of beams")


@task("beam", contract=27)
def test_penalty_is_one_unless_said(student, draw):
    """length_penalty is 1.0 by default, and may be passed by name."""

    def lengths_differ(puzzle: beams.Puzzle, found: list[beams.Hypothesis]) -> bool:
        return len({len(tokens) for tokens, _ in found}) > 1

    puzzle = puzzle_of(draw, num_beams=4, max_new_tokens=5, such_that=lengths_differ, **OFTEN)

    assert_beams(search(student, puzzle), puzzle.solve().beams)
    assert_beams(search(student, puzzle, length_penalty=1.0), puzzle.solve().beams)


ANY: dict[str, dict[str, Any]] = {
    "a long prompt": {"num_beams": 4, "max_new_tokens": 4, "length": 17},
    "a prompt of one token": {"num_beams": 4, "max_new_tokens": 5, "length": 1},
    "EOS is the first id": {"num_beams": 4, "max_new_tokens": 5, "eos_id": 0},
    "EOS is the last id": {"num_beams": 4, "max_new_tokens": 5, "eos_id": 8},
}


@task("beam", contract=26)
@pytest.mark.parametrize("kind", ANY)
def test_searches_of_all_kinds(student, draw, kind):
    """The best of each step are kept for any prompt and EOS id."""
    verify(student, puzzle_of(draw, **ANY[kind], **OFTEN))


@task("beam", contract=26)
@pytest.mark.parametrize("length_penalty", [-3.0, 1.0, 5.0])
def test_smallest_searches(student, draw, length_penalty):
    """The best are kept with one beam, token or step as with two: in all combinations."""
    for num_beams, vocab, steps in itertools.product((1, 2), (1, 2, 3), (1, 2)):
        options = {"num_beams": num_beams, "vocab": vocab, "max_new_tokens": steps}

        verify(student, puzzle_of(draw, length=1, length_penalty=length_penalty, **options))


@task("beam", contract=28)
@pytest.mark.parametrize(("steps", "vocab"), [(1, 3), (2, 4)])
def test_fewer_sequences_than_beams(student, draw, steps, vocab):
    """Where there are fewer sequences than num_beams all of them come back, the best first."""
    puzzle = puzzle_of(draw, num_beams=29, max_new_tokens=steps, vocab=vocab, **OFTEN)

    got = search(student, puzzle)

    assert_beams(got, puzzle.best())


@task("beam", contract=32)
def test_impossible_tokens_among_the_best(student, draw):
    """Beams of probability 0 have no slot, in no step."""
    options = {"num_beams": 3, "max_new_tokens": 5, "vocab": 7, "impossible": 0.4}

    verify(student, puzzle_of(draw, **options, **OFTEN))


@task("beam", contract=33)
@pytest.mark.parametrize(("num_beams", "vocab"), [(3, 9), (11, 5)])
def test_first_step_gives_different_beams(student, draw, num_beams, vocab):
    """The first step starts from one beam: no two beams are equal, even with more than V."""
    puzzle = puzzle_of(draw, num_beams=num_beams, max_new_tokens=3, vocab=vocab, **OFTEN)

    verify(student, puzzle)


@task("beam", contract=35)
def test_eos_in_the_prompt_ends_nothing(student, draw):
    """A prompt may hold EOS: it ends neither the search nor a beam."""
    options = {"num_beams": 3, "max_new_tokens": 4, "eos_in_prompt": True}

    verify(student, puzzle_of(draw, **options, **OFTEN))


@task("beam", contract=36)
@each_low_dtype
def test_sums_are_computed_in_float32(student, draw, dtype):
    """Log-probabilities and their sums have float32's precision, whatever dtype the logits have."""
    options = {"num_beams": 5, "max_new_tokens": 5, "spread": 3.0, "dtype": dtype}

    verify(student, puzzle_of(draw, **options, **OFTEN))


@task("beam", contract=37)
@pytest.mark.parametrize("num_beams", [4, 250])
def test_logits_of_any_size(student, draw, num_beams):
    """Log-probabilities far below 0 are kept apart: neither they nor their sums underflow."""
    verify(student, puzzle_of(draw, num_beams=num_beams, max_new_tokens=3, vocab=6, spread=150.0))


@task("beam", contract=35)
def test_beam_search_leaves_the_prompt_alone(student, draw):
    """The list of the prompt is not modified."""
    puzzle = puzzle_of(draw, num_beams=3, max_new_tokens=3)
    prompt = student.watch(puzzle.prompt)

    assert_beams(search(student, puzzle, prompt=prompt), puzzle.solve().beams)

    assert_unmodified(prompt, "prompt")
