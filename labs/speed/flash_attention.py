"""The sizes of lab 07 that are timed, for ``make bench LAB=7`` on a GPU.

Function, sizes, dtype and baseline are those that are graded; the numbers are plainer.
"""

import pytest
import torch
from torch import Generator, Tensor

from grader.suite import Race, task

# T = S, D, heads of two sequences together, causal
SIZES = [
    *((4096, 64, 64, False), (4096, 128, 64, True), (8192, 64, 32, True)),
    *((8192, 128, 16, False), (16_384, 64, 16, False), (16_384, 128, 16, True)),
]


def attention(length: int, width: int, heads: int, causal: bool) -> Race:
    """A call reads q, k and v and writes o; it has two products for each pair that is seen."""

    def draw(generator: Generator) -> tuple[Tensor, ...]:
        shape = 3, 2, heads // 2, length, width
        numbers = torch.randn(shape, generator=generator, device=generator.device)
        return tuple(numbers.bfloat16())

    seen = heads * length**2 // (2 if causal else 1)
    kind = "causal" if causal else "full"
    return Race(
        function="flash_attention",
        case=f"{length} x {width}, {kind}",
        inputs=draw,
        options={"causal": causal},
        compare="attention",
        bytes=8 * heads * length * width,
        flops=4 * seen * width,
        size=length,
        axis="queries and keys",
    )


RACES = [attention(*size) for size in SIZES]


@task("speed", gate=True)
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.case)
def test_results_are_right_at_this_size(stopwatch, race):
    """Whole results are right, and arguments unchanged."""
    stopwatch.verify(race)


@task("speed", tiers="forward")
@pytest.mark.parametrize("race", RACES, ids=lambda race: race.case)
def test_attention(stopwatch, tier, race):
    """The kernel beside torch's flash attention."""
    stopwatch.reach(tier, race)
