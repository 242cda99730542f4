"""What ``make compile`` compiles of many launches, and in which order."""

from collections import Counter
from typing import Any

from grader.judge.observers.kernels import FIRST, MOST_SPECIALISATIONS, jobs_of
from grader.labs.cards import CARDS


def launch(size: int, block: int) -> dict[str, Any]:
    tensor = ["tensor", "float32", [size], 0, 4 * size]
    args = [tensor, ["value", size]]
    return {"kernel": "k", "line": 1, "args": args, "kwargs": {"BLOCK": ["value", block]}}


def test_largest_launch_is_compiled_for_all_targets_and_comes_first() -> None:
    jobs = jobs_of([launch(77, 64), launch(1030, 64), launch(80, 128)])

    shown = [job for job in jobs if job.shown]
    assert jobs[: len(shown)] == shown
    assert {job.target for job in shown} == {*CARDS}
    assert jobs[0].target == FIRST
    assert {str(job.launch) for job in shown} == {str(launch(1030, 64))}
    assert [job.launch["args"][1][1] for job in jobs[len(shown) :]] == [80]


def test_each_set_of_options_has_its_turn() -> None:
    sizes = [1, *(1 << n for n in range(6)), 77, 80]
    many = [launch(1000 * size, 64) for size in sizes]
    blocks = [1 << n for n in range(7, 30)]

    jobs = jobs_of([*many, *(launch(5, block) for block in blocks)])

    first = {job.launch["kwargs"]["BLOCK"][1] for job in jobs}
    assert first == {64, *blocks}
    assert len(jobs) == MOST_SPECIALISATIONS + len(CARDS) - 1
    assert max(Counter(job.batch for job in jobs).values()) == 1


def test_strides_that_reach_far_make_no_launch_large() -> None:
    far = launch(5, 64)
    far["args"][0] = ["tensor", "float32", [5], 0, 1 << 34]

    shown = [job for job in jobs_of([far, launch(77, 64)]) if job.shown]

    assert {str(job.launch) for job in shown} == {str(launch(77, 64))}
