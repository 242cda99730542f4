"""The measuring loop: peers in turn, A-B-C then C-B-A, on fresh inputs in every round.

A drift of the clock or of the temperature meets all peers alike, and ratios are taken within a
round. The timer is given, so the loop is tested without a GPU.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

S = TypeVar("S")
Timer = Callable[[Callable[[], None]], float]  # runs the work, returns its seconds

BLOCK_SECONDS = 0.02  # of one peer in one round
MOST_CALLS = 1000
TRIAL_CALLS = 3


@dataclass(frozen=True, slots=True)
class Summary:
    """Median over the rounds, and the width of their middle half as a share of it."""

    median: float
    spread: float


def run_rounds(
    calls: Mapping[str, Callable[[S], Any]],
    refill: Callable[[], Sequence[S]],
    timer: Timer,
    rounds: int,
) -> dict[str, list[float]]:
    """Seconds a call of each peer, round by round; ``refill`` makes the slots of a round."""
    counts = _choose_counts(calls, refill(), timer)
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for _ in range(rounds):
        _run_round(order, calls, counts, refill(), timer, times)
        order.reverse()
    return times


def _run_round(
    order: Sequence[str],
    calls: Mapping[str, Callable[[S], Any]],
    counts: Mapping[str, int],
    slots: Sequence[S],
    timer: Timer,
    times: Mapping[str, list[float]],
) -> None:
    for name in order:
        times[name].append(_seconds(calls[name], slots, counts[name], timer))


def _choose_counts(
    calls: Mapping[str, Callable[[S], Any]], slots: Sequence[S], timer: Timer
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, call in calls.items():
        _repeat(call, slots, len(slots))  # compiles and tunes; every slot has been touched
        counts[name] = calls_for(_seconds(call, slots, TRIAL_CALLS, timer), len(slots))
    return counts


def calls_for(seconds: float, slots: int) -> int:
    """Calls that fill a block: whole turns through the slots, at least one, not without end."""
    wanted = MOST_CALLS if seconds <= 0 else min(MOST_CALLS, BLOCK_SECONDS / seconds)
    return slots * max(1, math.ceil(wanted / slots))


def _seconds(call: Callable[[S], Any], slots: Sequence[S], count: int, timer: Timer) -> float:
    return timer(lambda: _repeat(call, slots, count)) / count


def _repeat(call: Callable[[S], Any], slots: Sequence[S], count: int) -> None:
    for turn in range(count):
        call(slots[turn % len(slots)])


def summarize(values: Sequence[float]) -> Summary:
    """Summarize the rounds of one peer; at least one value, all above 0."""
    median = statistics.median(values)
    if len(values) < 2:
        return Summary(median, 0.0)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Summary(median, (high - low) / median)


def speedup(times: Sequence[float], baseline: Sequence[float]) -> float:
    """How many times faster than the baseline: the median of the rounds' own ratios."""
    return statistics.median(b / t for t, b in zip(times, baseline, strict=True))
