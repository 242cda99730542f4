"""The device's memory, and what torch may do there beside kernels."""

from typing import Any

import pytest
import torch

from grader.wire.errors import WireError
from grader.worker.device.memory import Memory
from grader.worker.operators.followed import Allowance


@pytest.mark.parametrize(
    "layout",
    [
        [0, 0, "float32", [11], [1]],
        [0, 2, "float32", [1], [1]],
        [0, 0, "float32", [1], [-1]],
        [0, 0, "float32", [2, 2], [1]],
        [0, 0, "float128", [1], [1]],
        [1, 0, "float32", [1], [1]],
        [0, 0, "float32", [1.0], [1]],
        [0, 1 << 70, "float32", [1], [1]],
        [0, 0, "float32", [1 << 40, 1 << 40], [0, 1 << 40]],
    ],
    ids=str,
)
def test_no_place_is_outside_of_a_storage(layout: list[Any]) -> None:
    memory = Memory()
    memory.add(0, torch.zeros(10))

    assert memory.tensor([0, 4, "float32", [3], [2]]).shape == (3,)
    with pytest.raises(WireError):
        memory.tensor(layout)


def test_no_storage_is_resized() -> None:
    memory = Memory()
    memory.add(0, torch.zeros(10))

    with pytest.raises(RuntimeError, match="not resizable"):
        memory.tensor([0, 0, "float32", [10], [1]]).resize_(100)


PLACES = torch.tensor([0, 0])


@pytest.mark.parametrize(
    ("name", "overload", "args", "moves"),
    [
        ("index_put", "default", ([PLACES], torch.ones(2)), True),
        ("index_put", "default", ([PLACES], torch.ones(2), True), False),
        ("scatter", "src", (0, PLACES, torch.ones(2)), True),
        ("scatter", "reduce", (0, PLACES, torch.ones(2)), False),
        ("clone", "default", (), True),
        ("mul", "Scalar", (2,), False),
        ("mm", "default", (torch.ones(2, 2),), False),
    ],
)
def test_moves_that_add_up_are_no_moves(
    name: str, overload: str, args: tuple[Any, ...], moves: bool
) -> None:
    operator = getattr(getattr(torch.ops.aten, name), overload)
    kwargs = {"reduce": "multiply"} if overload == "reduce" else {}

    def may(elements: int) -> bool:
        allowance = Allowance((), 10)
        values = (torch.zeros(4), *args), kwargs
        return allowance.may(operator, *values, given=True, elements=elements)

    assert may(11) is moves
    assert may(10) is (name != "mm")
