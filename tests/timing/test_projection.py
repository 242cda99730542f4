"""What the prover takes for right: outputs that round otherwise, and nothing stale or missing."""

import pytest
import torch
from torch import Tensor

from grader.errors import Mismatch
from grader.timing.projection import Prover
from grader.timing.race import Race
from grader.wire.ring import Slot, slots_of

CPU = torch.device("cpu")
WIDTH, OUTS = 256, 4096
READINGS = 16
WEIGHTS = torch.randn(OUTS, WIDTH, generator=torch.Generator().manual_seed(0))


def rounded_weights(x: Tensor) -> Tensor:
    """Multiply with weights in bf16, as a baseline may."""
    return (x.float() @ WEIGHTS.bfloat16().float().T).bfloat16()


def exact_weights(x: Tensor) -> Tensor:
    """Multiply with the weights as they are: right too, and otherwise rounded."""
    return (x.float() @ WEIGHTS.T).bfloat16()


def prover_of(rows: int) -> tuple[Prover, list[Slot]]:
    """Return a prover of the product of that many rows, and the slots of a ring."""

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        return (torch.randn(rows, WIDTH, generator=generator).bfloat16(),)

    race = Race(function="product", case="", inputs=inputs, compare="matmul", bytes=1)
    prover = Prover(race, rounded_weights, CPU)
    layout = prover.layout(2)
    return prover, slots_of(layout, torch.zeros(layout.size, dtype=torch.uint8))


def judge(prover: Prover, slots: list[Slot], part: slice) -> None:
    """Fill the outputs, but leave a part of the last as it was, and judge them."""
    stale = slots[-1].outputs[0].clone()
    expected = prover.prepare(slots)
    for slot in slots:
        slot.outputs[0].copy_(exact_weights(slot.inputs[0]))
    slots[-1].outputs[0][:, part] = stale[:, part]
    prover.judge(prover.reader(slots).read(), expected)


def race(prover: Prover, slots: list[Slot], part: slice) -> None:
    """Judge as often as a race does."""
    for _ in range(READINGS):
        judge(prover, slots, part)


@pytest.mark.parametrize("rows", [1, 3, 200])
def test_other_rounding_is_right_every_time(rows):
    prover, slots = prover_of(rows)
    for _ in range(300 if rows == 1 else 30):
        judge(prover, slots, slice(0))


@pytest.mark.parametrize("rows", [1, 3, 200])
@pytest.mark.parametrize("part", [slice(None), slice(OUTS // 8), slice(-8, None)])
def test_stale_part_is_found(rows, part):
    """Eight values of one row cancel under one draw of signs in ten: a race has many readings."""
    prover, slots = prover_of(rows)
    judge(prover, slots, slice(0))
    with pytest.raises(Mismatch, match="had not left the right values"):
        race(prover, slots, part)


def test_output_that_was_not_written_is_found():
    prover, slots = prover_of(1)
    expected = prover.prepare(slots)
    with pytest.raises(Mismatch):
        prover.judge(prover.reader(slots).read(), expected)
