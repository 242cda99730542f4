"""Hidden suite of the demo lab with a speed task."""

import pytest
import torch
from torch import Generator, Tensor

from grader.suite import Race, assert_close, task


def race(rows: int, columns: int) -> Race:
    """Rows of different scale and offset."""

    def inputs(generator: Generator) -> tuple[Tensor, ...]:
        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, device=generator.device)

        x = normal(rows, columns) * normal(rows, 1) + 10 * normal(rows, 1)
        return (x.bfloat16(),)

    return Race(
        function="softmax",
        case=f"{rows} x {columns}",
        inputs=inputs,
        bytes=2 * rows * columns * 2,
        size=rows * columns * 2 / 1e6,
        axis="MB",
    )


@task("right", gate=True)
@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (7, 129)])
def test_values(student, draw, rows, columns):
    """softmax is the exponential over its sum, row by row."""
    x = 30 * draw.normal(rows, columns)

    got = student.softmax(x)

    assert_close(got, torch.softmax(x.double(), -1), "elementwise", like=x)


@task("speed", gate=True, needs=("right",))
def test_large_rows_are_right(stopwatch):
    """softmax is right at the size that is timed."""
    stopwatch.verify(race(16384, 4096))


@task("speed", tiers="rows", needs=("right",))
def test_speed(stopwatch, tier):
    """softmax keeps up with torch's."""
    stopwatch.reach(tier, race(16384, 4096))
