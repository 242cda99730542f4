"""Statistics of a race: an interval for the median of ratios, and when it decides every tier."""

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 2000
CONFIDENCE = 0.95
# Two processes that run the same kernel differ by one or two per cent: that much is a tie.
TIE = 0.02
# How far from every tier few values have to lie, all of them, to need no more.
CLEAR = 0.15


@dataclass(frozen=True, slots=True)
class Interval:
    """The median of some values, and the bounds of its bootstrap interval."""

    median: float
    low: float
    high: float

    def settles(self, ratios: Sequence[float]) -> bool:
        """Tell whether it lies on one side of each ratio, less what counts as a tie."""
        asked = [ratio * (1 - TIE) for ratio in ratios]
        return all(self.low >= ratio or self.high < ratio for ratio in asked)

    def is_clear_of(self, ratios: Sequence[float]) -> bool:
        """Tell whether it lies far from each ratio, on one side of it."""
        sides = ((ratio * (1 - CLEAR), ratio * (1 + CLEAR)) for ratio in ratios)
        return all(self.high < below or self.low >= above for below, above in sides)

    def reaches(self, ratio: float) -> bool:
        """Tell whether the ratio is reached; what is still open goes to the student."""
        return self.high >= ratio * (1 - TIE)


def bootstrap(values: Sequence[float]) -> Interval:
    """Return the median and its 95 % percentile-bootstrap interval (Efron 1979)."""
    chance = random.Random(0)  # a drawing of its own: the same values give the same interval
    medians = sorted(
        statistics.median(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    tail = round((1 - CONFIDENCE) / 2 * RESAMPLES)
    return Interval(statistics.median(values), medians[tail], medians[-1 - tail])
