"""The sizes of lab 06 that are timed, for ``make bench LAB=6`` on a GPU.

Functions, sizes, dtype and baseline are those that are graded; the numbers are plainer.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Generator, Tensor

from grader.suite import Race, task

SIZES = [(32_768, 4096), (8192, 8192), (16_384, 5003)]
EPS = 1e-5


def normal(generator: Generator, *shape: int) -> Tensor:  # bfloat16
    """Draw normal numbers where the generator is."""
    return torch.randn(shape, generator=generator, device=generator.device).bfloat16()


def forward(rows: int, width: int) -> Race:
    """A call reads x and writes y."""

    def draw(generator: Generator) -> tuple[Tensor, ...]:
        x, weight = normal(generator, rows, width) + 0.5, normal(generator, width)
        return x, weight, normal(generator, width)

    return named("layer_norm_forward", rows, width, draw, 2, "elementwise", {"eps": EPS})


def backward(rows: int, width: int) -> Race:
    """A call reads dy and x, and writes dx."""

    def draw(generator: Generator) -> tuple[Tensor, ...]:
        x, dy = normal(generator, rows, width) + 0.5, normal(generator, rows, width)
        centre = x.float().mean(-1)
        spread = (x.float() - centre[:, None]).square().mean(-1)
        return dy, x, normal(generator, width), centre, torch.rsqrt(spread + EPS)

    return named("layer_norm_backward", rows, width, draw, 3, "backward", {})


def named(
    function: str,
    rows: int,
    width: int,
    draw: Callable[[Generator], tuple[Tensor, ...]],
    tensors: int,  # of the size of x that cross the bus
    compare: str,
    options: dict[str, object],
) -> Race:
    """Return a race over one size."""
    size = 2 * rows * width  # bytes of x
    return Race(
        function=function,
        case=f"{rows} x {width}",
        inputs=draw,
        options=options,
        compare=compare,
        bytes=tensors * size,
        size=size / 1e6,
        axis="MB",
    )


FORWARD, BACKWARD = ([make(*size) for size in SIZES] for make in (forward, backward))


@task("speed", gate=True)
@pytest.mark.parametrize(
    "race", [*FORWARD, *BACKWARD], ids=lambda race: f"{race.function}, {race.case}"
)
def test_results_are_right_at_this_size(stopwatch, race):
    """Whole results are right, and arguments unchanged."""
    stopwatch.verify(race)


@task("speed", tiers="forward")
@pytest.mark.parametrize("race", FORWARD, ids=lambda race: race.case)
def test_forward(stopwatch, tier, race):
    """The forward beside torch's layer norm."""
    stopwatch.reach(tier, race)


@task("speed", tiers="backward")
@pytest.mark.parametrize("race", BACKWARD, ids=lambda race: race.case)
def test_backward(stopwatch, tier, race):
    """The backward beside torch's."""
    stopwatch.reach(tier, race)
