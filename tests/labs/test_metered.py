"""What a worker tells of launches: it may lie, so only the form of ours is taken."""

from typing import Any

import pytest
from stand_ins.metered import SOFTMAX

from grader.labs.metered import Metered, Tuned

GOOD = SOFTMAX.to_json()


def test_what_is_told_comes_back_whole() -> None:
    assert Metered.of(GOOD) == SOFTMAX
    assert (SOFTMAX.requested, SOFTMAX.least) == (12_000_000, 8_000_000)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loaded": -1},
        {"loaded": 1.5},
        {"stored": True},
        {"times": 1 << 61},
        {"grid": "many"},
        {"grid": None},
        {"tensors": [{"name": "x"}]},
        {"tensors": [7]},
        {"flops": {"fp32": "1"}},
        {"dots": [1]},
        {"special": None},
    ],
)
def test_what_is_no_figure_of_a_launch_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # any text
        Metered.of({**GOOD, **wrong})


def test_names_are_cut() -> None:
    long = Metered.of({**GOOD, "kernel": "k" * 1000, "flops": {"f" * 1000: 1}})

    assert (len(long.kernel), [*map(len, long.flops)]) == (60, [20])


def test_a_tuned_kernel_is_taken_in_and_anything_else_refused() -> None:
    told = {"kernel": "_k", "line": 3, "keys": ["N"], "configs": ["BLOCK=64, num_warps=4"]}

    assert Tuned.of(told) == Tuned("_k", 3, ("N",), ("BLOCK=64, num_warps=4",))
    for wrong in (None, [], {**told, "line": -1}, {**told, "keys": "N"}, {"kernel": "_k"}):
        with pytest.raises(ValueError):  # noqa: PT011  # any text
            Tuned.of(wrong)
