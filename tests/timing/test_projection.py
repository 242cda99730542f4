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


def test_what_is_made_of_tokens_has_the_tolerance_of_the_outputs():
    """A step of a model takes integers: what it may lose is told by its logits."""
    table = torch.randn(50, WIDTH, generator=torch.Generator().manual_seed(1)).bfloat16()

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        return (torch.randint(50, (3,), generator=generator),)

    race = Race(function="step", case="", inputs=inputs, compare="model", bytes=1)
    prover = Prover(race, table.__getitem__, CPU)
    slots = slots_of(prover.layout(1), torch.zeros(prover.layout(1).size, dtype=torch.uint8))
    expected = prover.prepare(slots)
    slots[0].outputs[0].copy_(table[slots[0].inputs[0]] * 1.05)
    prover.judge(prover.reader(slots).read(), expected)
    prover.judge_whole(slots)

    slots[0].outputs[0].copy_(table[(slots[0].inputs[0] + 1) % 50])
    with pytest.raises(Mismatch, match="right values"):
        prover.judge(prover.reader(slots).read(), expected)
    with pytest.raises(Mismatch, match="elements are off"):
        prover.judge_whole(slots)
