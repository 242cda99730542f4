"""Hidden suite of the demo lab on groups."""

import pytest
import torch

from grader.suite import PerRank, assert_close, check, task


@task("total", gate=True)
@pytest.mark.parametrize("world", [4, 3, 2, 1])
def test_sum(student, draw, world):
    """total is the sum of every rank's x, on every rank."""
    parts = [draw.normal(3, 5) for _ in range(world)]

    got = student.spawn(world).total(PerRank(parts))

    for value in got:
        assert_close(value, torch.stack(parts).double().sum(0), "elementwise", like=parts[0])


@task("total")
def test_sum_in_a_group_of_some_ranks(student, draw):
    """total with a group sums over its ranks only, by one collective of all its bytes."""
    parts = [draw.normal(7) for _ in range(2)]
    group = student.spawn(4).subgroup(1, 3)

    with group.collectives() as sent:
        got = group.total(PerRank(parts), group.process_group)

    for value in got:
        assert_close(value, (parts[0] + parts[1]).double(), "elementwise", like=parts[0])
    check(sent.per_rank == [[("all_reduce", 28)]] * 2, "total sends x once")


@task("part", gate=True)
@pytest.mark.parametrize("world", [3, 2])
def test_rows(student, draw, world):
    """Part keeps the rank's own rows, in the order of the ranks."""
    x = draw.normal(world * 2, 5)

    part = student.spawn(world).Part(x)

    for value, own in zip(part.rows, x.chunk(world), strict=True):
        assert_close(value, own.double(), "elementwise", like=x)


@task("part")
def test_rest_is_given_up(student, draw):
    """Part keeps no more than the rank's own rows."""
    x = draw.normal(400, 50)
    group = student.spawn(4)
    before = group.held_bytes()

    part = group.Part(x)

    held = [now - then for now, then in zip(group.held_bytes(), before, strict=True)]
    check(part.kind_ == "Part", "Part is a class")
    check(max(held) <= x.numel() * 4 / 4 + 1000, "a rank keeps its own rows only")


@task("part")
def test_refuses_rows_that_do_not_divide(student, draw):
    """Part raises ValueError on every rank if the rows cannot be shared."""
    with student.spawn(3).raises(ValueError, naming="rows"):
        student.spawn(3).Part(draw.normal(4, 2))
