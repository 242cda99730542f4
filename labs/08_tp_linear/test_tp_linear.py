"""Public tests of lab 08: the examples of the handout, to try your code on as you go."""

from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import GroupProxy, PerRank, assert_equal, check, expect, task

WEIGHT = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]])
BIAS = torch.tensor([10.0, 20])
X = torch.tensor([1.0, 0, 2, 1])


@task("shards")
def test_example_of_shards(student):
    """Outputs are the first axis of a weight, inputs the second."""
    assert_equal(student.column_shard(WEIGHT, 1, 2), torch.tensor([[5.0, 6, 7, 8]]))
    assert_equal(student.row_shard(WEIGHT, 1, 2), torch.tensor([[3.0, 4], [7, 8]]))


@task("shards")
def test_example_of_a_refusal(student):
    """Two rows cannot be split over three ranks."""
    with student.raises(ValueError):
        student.column_shard(WEIGHT, 0, 3)


def layer(group: Any, name: str, *args: Any, **options: Any) -> GroupProxy:
    """Make a layer on every rank."""
    module = getattr(group, name)(*args, group.process_group, **options)
    check(isinstance(module, GroupProxy), f"{name} should give an object on every rank")
    return module


def assert_each(got: Any, wanted: list[Tensor], what: str) -> None:
    """Compare what two ranks gave."""
    check(isinstance(got, PerRank), f"{what} should be a tensor on every rank")
    for rank, (mine, want) in enumerate(zip(got, wanted, strict=True)):
        assert_equal(mine, want, f"{what} on rank {rank}")


@task("column")
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_example_of_a_column_parallel_layer(student, gather):
    """Rank 0 computes the first output, rank 1 the second."""
    module = layer(student.spawn(2), "ColumnParallelLinear", WEIGHT, BIAS, gather_output=gather)

    got = module(X)

    whole = torch.tensor([21.0, 47])
    assert_each(got, [whole, whole] if gather else [whole[:1], whole[1:]], "the output")


@task("column")
def test_example_of_the_gradient_of_x(student):
    """Each rank's upstream gradient flows through its own row; the sum is the gradient of x."""
    group = student.spawn(2)
    module = layer(group, "ColumnParallelLinear", WEIGHT, BIAS)

    upstream = PerRank([torch.tensor([1.0]), torch.tensor([10.0])])
    replies = group.backward(module, (X,), upstream)

    dx = [expect(reply, tuple)[1] for reply in replies]
    for rank, got in enumerate(dx):
        assert_equal(got, [torch.tensor([51.0, 62, 73, 84])], f"the gradient of x on rank {rank}")


@task("row")
def test_example_of_a_row_parallel_layer(student):
    """Rank 0 has x's first two features, rank 1 the others; the bias counts once."""
    module = layer(student.spawn(2), "RowParallelLinear", WEIGHT, BIAS)

    got = module(PerRank([X[:2], X[2:]]))

    assert_each(got, [torch.tensor([21.0, 47])] * 2, "the output")


@task("qkv")
def test_example_of_a_shared_head(student):
    """Two query heads, one key/value head, two ranks: both have the same k and v."""
    wq, wk, wv = WEIGHT, WEIGHT[:1] + 1, WEIGHT[1:] - 1
    module = layer(student.spawn(2), "QKVParallelLinear", wq, wk, wv, 2, 1)

    got = module(X)

    check(isinstance(got, PerRank), "forward should give q, k and v on every rank")
    for rank, q in enumerate([11.0, 27.0]):
        wanted = tuple(torch.tensor([value]) for value in (q, 15.0, 23.0))
        assert_equal(got[rank], wanted, f"q, k and v of rank {rank}")


@task("mlp")
def test_example_of_an_mlp(student):
    """A gate of 0 lets nothing through; silu(30) is 30 in float32."""
    w_gate = torch.tensor([[30.0, 0], [0, 0]])
    w_up, w_down = torch.tensor([[1.0, 2], [5, 5]]), torch.tensor([[1.0, 9], [2, 9]])
    module = layer(student.spawn(2), "ParallelMLP", w_gate, w_up, w_down)

    got = module(torch.tensor([1.0, 3]))

    assert_each(got, [torch.tensor([210.0, 420])] * 2, "the output")


@task("cost")
@pytest.mark.parametrize(
    ("op", "want"),
    [("all_reduce", 6000.0), ("all_gather", 3000.0), ("reduce_scatter", 3000.0)],
)
def test_example_of_bytes(student, op, want):
    """1000 float32 numbers, 4 ranks: chunks of 1000 bytes, 3 or 6 of them sent."""
    got = expect(student.communication_bytes(op, 1000, 4, 4), int | float)

    check(abs(got - want) < 1e-6, f"{op} sends {want:g} bytes from each rank")
