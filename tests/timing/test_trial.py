"""From seconds to a tier: time per call, intervals, when enough has been measured."""

import itertools
import random
import statistics
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.proxy.conversation.spent import Spent
from grader.timing.interval import TIE, Interval, bootstrap
from grader.timing.race import Race
from grader.timing.roofline import Roofline
from grader.timing.speed import judged
from grader.timing.trial import (
    CLEAR_BLOCKS,
    FACTOR,
    FEWEST_BLOCKS,
    MOST_BLOCKS,
    MOST_CALLS,
    STEADY,
    Contest,
    PerCall,
    Sample,
    Timing,
    choose_calls,
    middle,
)

REQUEST, NOTHING = 400e-6, 250e-6  # seconds: of a round trip, of the null function
positive = st.floats(1e-6, 1e-2)


def sample(calls: int, seconds: float, extra_short: float = 0.0) -> Sample:
    """What n and 5n calls take that cost ``seconds`` each."""
    each = seconds + NOTHING
    return Sample(REQUEST + calls * each + extra_short, REQUEST + FACTOR * calls * each)


@given(positive, st.integers(1, MOST_CALLS))
def test_time_per_call_is_free_of_request_and_checks(seconds: float, calls: int) -> None:
    per_call = PerCall(calls, sample(calls, 0.0))

    assert per_call.seconds([sample(calls, seconds)]) == pytest.approx(seconds, rel=1e-6)


@given(positive, st.integers(1, MOST_CALLS), st.floats(0, 1e-2))
def test_slow_short_runs_gain_nothing(seconds: float, calls: int, extra: float) -> None:
    per_call = PerCall(calls, sample(calls, 0.0))

    found = per_call.seconds([sample(calls, seconds, extra_short=extra)])

    assert found >= seconds * (1 - 1e-6)


@given(positive, st.integers(1, MOST_CALLS))
def test_work_done_ahead_gains_nothing(seconds: float, calls: int) -> None:
    per_call = PerCall(calls, sample(calls, 0.0))
    # All of the work of 5n calls in the first: the short run takes as long as the long one.
    ahead = sample(calls, seconds, extra_short=(FACTOR - 1) * calls * seconds)

    assert per_call.seconds([ahead]) >= seconds * (1 - 1e-6)


def test_time_is_never_zero_or_below() -> None:
    assert PerCall(4, sample(4, 1.0)).seconds([sample(4, 0.0)]) > 0


def test_baseline_that_is_held_back_counts_as_fast_as_it_is_alone() -> None:
    timing = Timing(4, NOTHING, solo=1.0, student=[1.0] * 6, baseline=[3.0] * 6)

    assert timing.ratio.median == pytest.approx(1 + STEADY)
    assert timing.disturbance == pytest.approx(2.0)


def test_drift_that_hits_both_sides_leaves_the_ratio() -> None:
    drift = [1.0, 1.01, 1.02, 1.05, 1.1, 1.2]
    timing = Timing(4, NOTHING, solo=9.0, student=drift, baseline=[2 * d for d in drift])

    assert timing.ratio == Interval(2.0, 2.0, 2.0)


@given(st.lists(st.floats(0.1, 10), min_size=3, max_size=30))
def test_interval_holds_the_median_and_is_the_same_each_time(values: list[float]) -> None:
    found = bootstrap(values)

    assert found.low <= found.median == statistics.median(values) <= found.high
    assert min(values) <= found.low
    assert found.high <= max(values)
    assert bootstrap(values) == found


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    chance = random.Random(7)
    hits = 0
    for _ in range(200):
        found = bootstrap([chance.gauss(1.0, 0.05) for _ in range(15)])
        hits += found.low <= 1.0 <= found.high

    assert 170 <= hits <= 200


@pytest.mark.parametrize(
    ("low", "high", "settled", "reached"),
    [
        (0.95, 0.97, True, True),
        (0.80, 0.86, True, False),
        (0.86, 0.95, False, True),  # open: the student's favour
        (0.89, 0.91, True, True),  # a tie with 0.9 is settled
    ],
)
def test_interval_decides_a_tier(low: float, high: float, settled: bool, reached: bool) -> None:
    interval = Interval((low + high) / 2, low, high)

    assert interval.settles((0.5, 0.9, 1.2)) is settled
    assert interval.reaches(0.9) is reached


@pytest.mark.parametrize(
    ("low", "high", "clear"),
    [(0.6, 0.75, True), (1.4, 2.0, True), (0.6, 0.8, False), (0.55, 0.7, False), (1.1, 3.0, False)],
)
def test_interval_far_from_every_tier_is_clear_of_them(
    low: float, high: float, clear: bool
) -> None:
    assert Interval((low + high) / 2, low, high).is_clear_of((0.5, 0.9, 1.2)) is clear


def contest_of(ratio: Callable[[], float]) -> Contest:
    """A race against a tier of 1 that has been run; its blocks have the ratios."""
    nobody = cast(Any, None)
    contest = Contest(nobody, nobody, 4, Spent())
    contest._null, contest._solo = [sample(4, 0.0)], [[sample(4, 1e-3)]]
    contest.block = lambda *lanes: contest._blocks.append(
        ([sample(4, 1e-3 / ratio())], [sample(4, 1e-3)])
    )
    contest._look = lambda student: None
    contest.compete(nobody, nobody, (1.0,))
    return contest


@pytest.mark.parametrize(
    ("ratios", "blocks"),
    [
        ([2.0, 1.6, 2.4], CLEAR_BLOCKS),
        ([0.7, 0.5, 0.8], CLEAR_BLOCKS),
        ([1.4, 1.1, 1.4], FEWEST_BLOCKS),  # above 1, and one of them not by far
        ([1.04, 1.05, 1.06], FEWEST_BLOCKS),
        ([1.3, 0.7, 1.3, 0.7], MOST_BLOCKS),
    ],
)
def test_a_race_ends_when_it_is_decided(ratios: list[float], blocks: int) -> None:
    left = itertools.cycle(ratios)

    assert len(contest_of(lambda: next(left))._blocks) == blocks


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.2])
@pytest.mark.parametrize("true", [0.5, 0.75, 1.35, 2.0])
def test_few_blocks_decide_as_they_should(true: float, noise: float) -> None:
    chance = random.Random(11)
    wrong = blocks = 0
    for _ in range(40):
        contest = contest_of(lambda: true * chance.lognormvariate(0, noise))
        wrong += contest.timing().ratio.reaches(1.0) is not (true > 1)
        blocks += len(contest._blocks)

    assert wrong == 0
    assert blocks < 40 * (FEWEST_BLOCKS + 1)


def test_equal_kernels_reach_the_tier_of_one() -> None:
    assert Interval(0.99, 0.985, 0.995).reaches(1.0)
    assert not Interval(0.96, 0.95, 1.0 - TIE - 0.001).reaches(1.0)


@given(positive, st.integers(FACTOR, 500))
def test_a_ring_holds_the_long_run(seconds: float, slots: int) -> None:
    calls = choose_calls(seconds, slots)

    assert 1 <= calls <= MOST_CALLS
    assert FACTOR * calls <= slots


def test_slow_calls_are_made_less_often() -> None:
    assert choose_calls(100e-6, 500) == MOST_CALLS
    assert choose_calls(10e-3, 500) == 1


def test_middle_takes_each_reading_by_itself() -> None:
    samples = [Sample(1.0, 9.0), Sample(2.0, 5.0), Sample(3.0, 6.0)]

    assert middle(samples) == Sample(2.0, 6.0)


@pytest.mark.parametrize(
    ("seconds", "believable"), [(1e-3, True), (0.85e-3, True), (0.5e-3, False)]
)
def test_what_no_gpu_can_do_is_not_plausible(seconds: float, believable: bool) -> None:
    race = Race(function="f", case="c", inputs=lambda g: (), bytes=10**9, flops=10**9)
    timing = Timing(4, NOTHING, solo=1.0, student=[seconds], baseline=[1.0])

    outcome = judged(race, timing, Roofline(bandwidth=1e12, matmul=1e15))

    assert (not outcome.suspicious) is believable
