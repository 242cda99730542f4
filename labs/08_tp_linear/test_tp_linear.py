"""Public tests of lab 08: the examples of the handout, and a small case of each of its contracts.

Most numbers are small integers, so that every sum is exact in whatever order ranks add it. What a
layer should give is written out, or taken from the dense layer as torch computes it in float64:
the parts of all ranks, side by side, are its tensors.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from grader.suite import (
    Group,
    GroupProxy,
    PerRank,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    expect,
    task,
)

# The layer of the handout: two outputs, four inputs.
WEIGHT = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8]])
BIAS = torch.tensor([10.0, 20])
X = torch.tensor([1.0, 0, 2, 1])

PATIENCE = 6.0  # seconds; a rank that waits for one that never comes waits as long as it may
WORLDS = pytest.mark.parametrize("ranks", [1, 2, 3, 4])
DTYPES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
SHAPES = [(), (3,), (1, 1), (2, 1, 3)]  # of x, its features left out


@pytest.fixture(autouse=True)
def _give_up_early(student: Any) -> Iterator[None]:
    """Wait for no rank longer than this."""
    with student.time_limit(PATIENCE):
        yield


# --- Task 1: shards --------------------------------------------------------------------------


@task("shards", contract=1)
def test_example_of_shards(student):
    """Outputs are the first axis of a weight, inputs the second."""
    assert_equal(student.column_shard(WEIGHT, 0, 2), torch.tensor([[1.0, 2, 3, 4]]))
    assert_equal(student.column_shard(WEIGHT, 1, 2), torch.tensor([[5.0, 6, 7, 8]]))
    assert_equal(student.row_shard(WEIGHT, 0, 2), torch.tensor([[1.0, 2], [5, 6]]))
    assert_equal(student.row_shard(WEIGHT, 1, 2), torch.tensor([[3.0, 4], [7, 8]]))


@task("shards", contract=1)
def test_neighbours_stay_together(student):
    """Of six features on three ranks the second rank has numbers 2 and 3."""
    numbers = torch.arange(6.0)

    assert_equal(student.column_shard(numbers.view(6, 1), 1, 3), torch.tensor([[2.0], [3]]))
    assert_equal(student.row_shard(numbers.view(1, 6), 1, 3), torch.tensor([[2.0, 3]]))


@task("shards", contract=2)
@pytest.mark.parametrize("name", ["column_shard", "row_shard"])
def test_shard_of_one_rank_is_the_weight(student, name):
    """A rank that is alone has everything."""
    assert_equal(getattr(student, name)(WEIGHT, 0, 1), WEIGHT)


@task("shards", contract=2)
@pytest.mark.parametrize("world", [3, 6, 7])
def test_one_feature_for_each_rank(student, world):
    """As many ranks as features, a power of two or not: each has one."""
    column = torch.arange(float(world)).view(world, 1)

    for rank in range(world):
        assert_equal(student.column_shard(column, rank, world), torch.tensor([[float(rank)]]))
        assert_equal(student.row_shard(column.T, rank, world), torch.tensor([[float(rank)]]))


@task("shards", contract=3)
@pytest.mark.parametrize("dtype", [torch.int64, torch.bfloat16, torch.float64], ids=str)
def test_shards_of_a_transposed_weight(student, dtype):
    """The weight may be a view, and its dtype stays: shards of a transposed weight."""
    weight = WEIGHT.to(dtype).T

    assert_equal(student.column_shard(weight, 1, 2), torch.tensor([[3, 7], [4, 8]], dtype=dtype))
    want = torch.tensor([[5], [6], [7], [8]], dtype=dtype)
    assert_equal(student.row_shard(weight, 1, 2), want)


@task("shards", contract=4)
@pytest.mark.parametrize(("outputs", "world"), [(2, 3), (5, 4), (9, 2)])
def test_example_of_a_refusal(student, outputs, world):
    """Two rows cannot be split over three ranks, nor can two columns: no rank gets a part."""
    for rank in range(world):
        with student.raises(ValueError):
            student.column_shard(torch.zeros(outputs, 12), rank, world)
        with student.raises(ValueError):
            student.row_shard(torch.zeros(12, outputs), rank, world)


@task("shards", contract=4)
def test_other_axis_may_have_any_size(student):
    """Three inputs do not keep two outputs from being split, nor the other way round."""
    weight = torch.tensor([[1.0, 2, 3], [4, 5, 6]])

    assert_equal(student.column_shard(weight, 1, 2), torch.tensor([[4.0, 5, 6]]))
    assert_equal(student.row_shard(weight, 2, 3), torch.tensor([[3.0], [6]]))


@task("shards", contract=5)
@pytest.mark.parametrize("name", ["column_shard", "row_shard"])
def test_sharding_changes_nothing(student, name):
    """The full weight is as before."""
    weight = student.watch(WEIGHT)

    getattr(student, name)(weight, 1, 2)

    assert_unmodified(weight, "weight")


# --- what the layers have in common ----------------------------------------------------------


def layer(group: Group, name: str, *args: Any, **options: Any) -> GroupProxy:
    """Make a layer on every rank."""
    module = getattr(group, name)(*args, group.process_group, **options)
    check(isinstance(module, GroupProxy), f"{name} should give an object on every rank")
    return module


def outputs(module: GroupProxy, x: Any) -> PerRank:
    """Call a layer on every rank."""
    got = module(x)
    check(isinstance(got, PerRank), "forward should give tensors on every rank, not an object")
    return got


@dataclass(frozen=True, slots=True)
class Back:
    """What a forward and a backward gave, rank by rank."""

    outs: list[Any]
    dx: list[Any]
    grads: list[dict[str, Any]]

    def of(self, name: str) -> list[Any]:
        """List the gradients of a parameter."""
        return [grads[name] for grads in self.grads]


def there_and_back(
    group: Group, module: GroupProxy, x: Any, dy: Any, names: str, **options: Any
) -> Back:
    """Go forward with x and backward with dy, the gradient of the output.

    The parameters must have these names; ranks other than 0 may do without a bias in brackets.
    """
    whole, few = names.replace("[bias]", "bias").split(), names.replace("[bias]", "").split()
    replies = group.backward(module, (x,), dy, **options)
    for rank, reply in enumerate(expect(replies, PerRank)):
        check(type(reply) is tuple and len(reply) == 3, f"rank {rank} gave {reply}")
        have = sorted(expect(reply[2], dict))
        text = f"on rank {rank} named_parameters() has {have}, expected {sorted(whole)}"
        check(have == sorted(whole) or (rank > 0 and have == sorted(few)), text)
    return Back(
        [r[0] for r in replies], [next(iter(r[1])) for r in replies], [r[2] for r in replies]
    )


def assert_same(got: Sequence[Any], want: Tensor, what: str, like: Tensor = WEIGHT) -> None:
    """Compare what every rank has whole."""
    for rank, value in enumerate(got):
        assert_close(value, want, "backward", like=like, what=f"{what} on rank {rank}")


def assert_each(got: Any, wanted: Sequence[Tensor], what: str) -> None:
    """Compare what each rank has by itself."""
    check(isinstance(got, PerRank | list), f"{what} should be a tensor on every rank")
    for rank, (value, want) in enumerate(zip(got, wanted, strict=True)):
        assert_equal(value, want, f"{what} on rank {rank}")


def assert_joined(
    got: Sequence[Any], want: Tensor, axis: int, what: str, like: Tensor = WEIGHT
) -> None:
    """Compare the parts of all ranks, side by side, with the whole."""
    shape = list(want.shape)
    shape[axis] //= len(got)
    for rank, part in enumerate(got):
        has = list(expect(part, Tensor, f"{what} on rank {rank}").shape)
        check(has == shape, f"{what} on rank {rank} has shape {has}, expected {shape}")
    side_by_side = f"{what}, all ranks' parts side by side"
    assert_close(torch.cat(list(got), axis), want, "backward", like=like, what=side_by_side)


def dense(function: Callable[..., Tensor], dy: Tensor, *inputs: Tensor | None) -> list[Tensor]:
    """Return the result of a dense function, and the gradients of its inputs, in float64."""
    wide = [None if value is None else value.detach().double().requires_grad_() for value in inputs]
    y = function(*wide)
    return [y, *torch.autograd.grad(y, [value for value in wide if value is not None], dy.double())]


def small(draw: Any, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Draw integers from -3 to 3."""
    return draw.integers(-3, 4, *shape).to(dtype)


def view(values: Tensor) -> Tensor:
    """Return a view that equals the values: its axes lie in reverse, with gaps between features."""
    size, *others = reversed(values.shape)
    apart = torch.full((2 * size, *others), 9.0, dtype=values.dtype)
    return apart[::2].permute(*reversed(range(values.dim()))).copy_(values)


def assert_began(per_rank: Sequence[Any], want: list[tuple[str, int]], when: str) -> None:
    """Compare the collectives that each rank began, and the bytes of the full tensor of each."""
    for rank, got in enumerate(per_rank):
        check(list(got) == want, f"rank {rank} began {got or 'none'} {when}, expected {want}")


def began_backward(group: Group, module: GroupProxy, x: Any, run: Callable[[], Any]) -> list[Any]:
    """Return the collectives of ``run`` on each rank, those that a forward begins left out."""
    with group.collectives() as forward:
        module(x)
    with group.collectives() as whole:
        run()
    both = zip(whole.per_rank, forward.per_rank, strict=True)
    return [every[len(first) :] for every, first in both]


def assert_keeps(group: Group, make: Callable[[], Any], want: int) -> None:
    """Make a layer, and compare the bytes of the tensors that each rank holds because of it."""
    before = group.held_bytes()
    made = make()
    held = [now - then for then, now in zip(before, group.held_bytes(), strict=True)]
    text = f"the layer keeps {held} bytes alive on the ranks, expected {want} on each, its own part"
    check(isinstance(made, GroupProxy) and max(held) <= want + 1000, text)


# --- Task 2: column --------------------------------------------------------------------------

COLUMN = "ColumnParallelLinear"


@task("column", contract=6)
def test_example_of_a_column_parallel_layer(student):
    """Rank 0 computes the first output, rank 1 the second."""
    module = layer(student.spawn(2), COLUMN, WEIGHT, BIAS)

    assert_each(outputs(module, X), [torch.tensor([21.0]), torch.tensor([47.0])], "the output")


@task("column", contract=7)
def test_example_of_the_gradient_of_x(student):
    """Each rank's upstream gradient flows through its own row; the sum is the gradient of x."""
    group = student.spawn(2)
    module = layer(group, COLUMN, WEIGHT, BIAS)

    dy = PerRank([torch.tensor([1.0]), torch.tensor([10.0])])
    got = there_and_back(group, module, X, dy, "weight bias")

    assert_each(got.dx, [torch.tensor([51.0, 62, 73, 84])] * 2, "the gradient of x")
    assert_each(got.of("weight"), [X[None], 10 * X[None]], "the gradient of weight")
    assert_each(got.of("bias"), list(dy), "the gradient of bias")


@task("column", contract=7)
def test_column_weights_learn_without_a_gradient_of_x(student):
    """An x that needs no gradient, as the first layer's, gets none; weight and bias get theirs."""
    group = student.spawn(2)
    module = layer(group, COLUMN, WEIGHT, BIAS)

    dy = PerRank([torch.tensor([1.0]), torch.tensor([10.0])])
    got = there_and_back(group, module, X, dy, "weight bias", needs=False)

    assert_each(got.of("weight"), [X[None], 10 * X[None]], "the gradient of weight")
    assert_each(got.of("bias"), list(dy), "the gradient of bias")


def column_is_dense(
    group: Group,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    dy: Tensor,
    module: GroupProxy | None = None,
) -> None:
    """Compare a column-parallel layer, and all its gradients, with the dense one."""
    module = module or layer(group, COLUMN, weight, bias)
    names = "weight" if bias is None else "weight bias"
    parts = PerRank(dy.split(dy.shape[-1] // group.size, -1))
    got = there_and_back(group, module, x, parts, names)
    y, dx, *grads = dense(F.linear, dy, x, weight, bias)
    assert_joined(got.outs, y, -1, "the output", x)
    assert_same(got.dx, dx, "the gradient of x", x)
    for name, grad in zip(names.split(), grads, strict=True):
        assert_joined(got.of(name), grad, 0, f"the gradient of {name}", weight)


@task("column", contract=6)
def test_column_without_bias(student):
    """Where bias is None there is none to add, and no such parameter."""
    group = student.spawn(2)

    column_is_dense(group, X, WEIGHT, None, torch.tensor([1.0, 10.0]))


@task("column", contract=8)
@WORLDS
def test_column_on_any_number_of_ranks(student, draw, ranks):
    """Twelve outputs on 1, 2, 3 and 4 ranks."""
    x, dy, weight = small(draw, 2, 5), small(draw, 2, 12), small(draw, 12, 5)

    column_is_dense(student.spawn(ranks), x, weight, small(draw, 12), dy)


@task("column", contract=9)
def test_example_of_a_gathered_output(student):
    """Both ranks have both outputs, in order; the gradient of these is the same on both."""
    group = student.spawn(2)
    module = layer(group, COLUMN, WEIGHT, BIAS, gather_output=True)

    got = there_and_back(group, module, X, torch.tensor([1.0, 10.0]), "weight bias")

    assert_each(got.outs, [torch.tensor([21.0, 47])] * 2, "the output")
    assert_each(got.dx, [torch.tensor([51.0, 62, 73, 84])] * 2, "the gradient of x")
    assert_each(got.of("weight"), [X[None], 10 * X[None]], "the gradient of weight")


@task("column", contract=9)
@pytest.mark.parametrize("ranks", [1, 4])
def test_gathered_features_are_in_order(student, draw, ranks):
    """Of 1 and of 4 ranks every one ends with the dense layer's output, rows and all."""
    x, dy, weight = small(draw, 2, 3, 5), small(draw, 2, 3, 8), small(draw, 8, 5)
    group = student.spawn(ranks)
    module = layer(group, COLUMN, weight, None, gather_output=True)

    got = there_and_back(group, module, x, dy, "weight")

    y, dx, dweight = dense(F.linear, dy, x, weight)
    assert_same(got.outs, y, "the output")
    assert_same(got.dx, dx, "the gradient of x")
    assert_joined(got.of("weight"), dweight, 0, "the gradient of weight")


@task("column", contract=10)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_column_keeps_leading_dimensions(student, draw, gather):
    """One layer takes a lone vector, several of them, and several of these."""
    weight = small(draw, 8, 5)
    module = layer(student.spawn(2), COLUMN, weight, None, gather_output=gather)

    for shape in SHAPES:
        x = small(draw, *shape, 5)
        y = F.linear(x, weight)
        wanted = [y, y] if gather else list(y.split(4, -1))
        assert_each(outputs(module, x), wanted, "the output")


@task("column", contract=10)
@DTYPES
def test_column_keeps_the_dtype(student, draw, dtype):
    """Outputs and gradients have the dtype of x and of the weights."""
    sizes = [(2, 5), (8, 5), (8,), (2, 8)]
    x, weight, bias, dy = (small(draw, *shape, dtype=dtype) for shape in sizes)

    column_is_dense(student.spawn(2), x, weight, bias, dy)


@task("column", contract=11)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_column_used_for_x_and_then_for_2x(student, gather):
    """1 + 2 times the gradients of x and weight, twice bias's; the first output stays."""
    group = student.spawn(2)
    module = layer(group, COLUMN, WEIGHT, BIAS, gather_output=gather)

    dy = torch.tensor([1.0, 10.0])
    upstream = dy if gather else PerRank(dy.split(1))
    got = there_and_back(group, module, X, upstream, "weight bias", twice=True)

    y = torch.tensor([21.0, 47])
    assert_each(got.outs, [y, y] if gather else list(y.split(1)), "the output for x")
    assert_each(got.dx, [3 * torch.tensor([51.0, 62, 73, 84])] * 2, "the gradient of x")
    assert_each(got.of("weight"), [3 * X[None], 30 * X[None]], "the gradient of weight")
    assert_each(got.of("bias"), [2 * part for part in dy.split(1)], "the gradient of bias")


@task("column", contract=8)
def test_column_in_two_groups(student, draw):
    """Ranks 1 and 3 of four are a group of two; a layer of all four is made before it."""
    group = student.spawn(4)
    pair = group.subgroup(1, 3)
    wide, narrow = (
        [small(draw, *shape) for shape in [(2, 5), (size, 5), (size,), (2, size)]]
        for size in (8, 6)
    )

    of_four, of_two = layer(group, COLUMN, *wide[1:3]), layer(pair, COLUMN, *narrow[1:3])

    column_is_dense(pair, *narrow, of_two)
    column_is_dense(group, *wide, of_four)


@task("column", contract=8)
def test_column_gathers_in_its_group(student):
    """In the group of ranks 1 and 3 the output is gathered from these two."""
    pair = student.spawn(4).subgroup(1, 3)
    module = layer(pair, COLUMN, WEIGHT, BIAS, gather_output=True)

    assert_each(outputs(module, X), [torch.tensor([21.0, 47])] * 2, "the output")


@task("column", contract=12)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_what_column_sends_forward(student, gather):
    """Nothing, or one all-gather of the output: of two float32, 8 bytes."""
    group = student.spawn(2)

    with group.collectives() as sent:
        module = layer(group, COLUMN, WEIGHT, BIAS, gather_output=gather)
    assert_began(sent.per_rank, [], "in the constructor")
    with group.collectives() as sent:
        module(X)
    assert_began(sent.per_rank, [("all_gather", 8)] if gather else [], "in a forward")


@task("column", contract=13)
@pytest.mark.parametrize("needs", [True, False], ids=["x needs one", "x needs none"])
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_what_column_sends_backward(student, gather, needs):
    """One all-reduce of the gradient of x, four float32: 16 bytes. Nothing if x needs none."""
    group = student.spawn(2)
    module = layer(group, COLUMN, WEIGHT, BIAS, gather_output=gather)
    dy = BIAS if gather else PerRank(BIAS.split(1))

    def run() -> None:
        group.backward(module, (X,), dy, needs=needs)

    want = [("all_reduce", 16)] if needs else []
    assert_began(began_backward(group, module, X, run), want, "in a backward")


@task("column", contract=14)
def test_parameters_of_column(student):
    """weight and bias of a rank are its rows of the full ones."""
    module = layer(student.spawn(2), COLUMN, WEIGHT, BIAS)

    assert_each(module.weight, [WEIGHT[:1], WEIGHT[1:]], "weight")
    assert_each(module.bias, [BIAS[:1], BIAS[1:]], "bias")


@task("column", contract=14)
def test_column_keeps_no_more_than_its_part(student):
    """Of a weight of 32,000 bytes and a bias of 16,000 each of two ranks keeps one half."""
    group, weight, bias = student.spawn(2), torch.zeros(4000, 2), torch.zeros(4000)

    assert_keeps(group, lambda: layer(group, COLUMN, weight, bias), 24_000)


@task("column", contract=15)
@pytest.mark.parametrize(("size", "ranks"), [(5, 2), (6, 4), (3, 4)])
@pytest.mark.parametrize("with_bias", [True, False], ids=["bias", "no bias"])
def test_outputs_that_cannot_be_split(student, size, ranks, with_bias):
    """The constructor refuses what cannot be divided, on every rank."""
    group, weight = student.spawn(ranks), torch.zeros(size, 12)

    with group.raises(ValueError):
        layer(group, COLUMN, weight, torch.zeros(size) if with_bias else None)


@task("column", contract=16)
def test_column_takes_a_transposed_x(student, draw):
    """x may be the transpose of a matrix; then its gradient, to be summed, is one too."""
    x, weight, bias, dy = (small(draw, *shape) for shape in [(5, 3), (8, 5), (8,), (3, 8)])

    column_is_dense(student.spawn(2), x.T, weight, bias, dy)


@task("column", contract=16)
def test_column_takes_views(student, draw):
    """Weight, bias, x and the gradient of the output may have gaps in memory."""
    x, weight, bias, dy = (
        view(small(draw, *shape)) for shape in [(2, 3, 5), (8, 5), (8,), (2, 3, 8)]
    )

    column_is_dense(student.spawn(2), x, weight, bias, dy)


@task("column", contract=16)
def test_column_changes_no_argument(student):
    """The full weight, bias, x and the gradient that arrives are as before."""
    group = student.spawn(2)
    weight, bias, x, dy = (
        PerRank(student.watch(value) for _ in range(2)) for value in (WEIGHT, BIAS, X, BIAS)
    )

    module = layer(group, COLUMN, weight, bias, gather_output=True)
    group.backward(module, (x,), dy)

    for name, watched in {"weight": weight, "bias": bias, "x": x, "the gradient": dy}.items():
        for rank in range(2):
            assert_unmodified(watched[rank], f"{name} on rank {rank}")


@task("column", contract=17)
def test_column_with_another_x_on_each_rank(student):
    """Rank 1 has 2x: its own output is 2 · 27 + 20, and the gradient of x is a sum as ever."""
    group = student.spawn(2)
    module = layer(group, COLUMN, WEIGHT, BIAS)

    dy = PerRank([torch.tensor([1.0]), torch.tensor([10.0])])
    got = there_and_back(group, module, PerRank([X, 2 * X]), dy, "weight bias")

    assert_each(got.outs, [torch.tensor([21.0]), torch.tensor([74.0])], "the output")
    assert_each(got.dx, [torch.tensor([51.0, 62, 73, 84])] * 2, "the gradient of x")
    assert_each(got.of("weight"), [X[None], 20 * X[None]], "the gradient of weight")


# --- Task 3: row -----------------------------------------------------------------------------

ROW = "RowParallelLinear"


@task("row", contract=18)
def test_example_of_a_row_parallel_layer(student):
    """Rank 0 has x's first two features, rank 1 the others; the bias counts once."""
    module = layer(student.spawn(2), ROW, WEIGHT, BIAS)

    got = outputs(module, PerRank([X[:2], X[2:]]))

    assert_each(got, [torch.tensor([21.0, 47])] * 2, "the output")


@task("row", contract=19)
@pytest.mark.parametrize("needs", [True, False], ids=["x needs one", "x needs none"])
def test_gradients_of_a_row_parallel_layer(student, needs):
    """With dy = [1, 10] they are those of the column-parallel example, cut the other way."""
    group = student.spawn(2)
    module = layer(group, ROW, WEIGHT, BIAS)

    dy = torch.tensor([1.0, 10.0])
    parts = PerRank([X[:2], X[2:]])
    got = there_and_back(group, module, parts, dy, "weight [bias]", needs=needs)

    if needs:
        assert_each(got.dx, [torch.tensor([51.0, 62]), torch.tensor([73.0, 84])], "dx")
    dweight = [torch.tensor([[1.0, 0], [10, 0]]), torch.tensor([[2.0, 1], [20, 10]])]
    assert_each(got.of("weight"), dweight, "the gradient of weight")
    for rank, grads in enumerate(got.grads):
        if "bias" in grads:
            assert_equal(grads["bias"], dy, f"the gradient of bias on rank {rank}")


def row_is_dense(
    group: Group,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    dy: Tensor,
    module: GroupProxy | None = None,
) -> None:
    """Compare a row-parallel layer, and all its gradients, with the dense one."""
    module = module or layer(group, ROW, weight, bias)
    names = "weight" if bias is None else "weight [bias]"
    parts = PerRank(x.split(x.shape[-1] // group.size, -1))
    got = there_and_back(group, module, parts, dy, names)
    y, dx, dweight, *dbias = dense(F.linear, dy, x, weight, bias)
    assert_same(got.outs, y, "the output", x)
    assert_joined(got.dx, dx, -1, "the gradient of x", x)
    assert_joined(got.of("weight"), dweight, 1, "the gradient of weight", weight)
    for want in dbias:
        held = [grads["bias"] for grads in got.grads if "bias" in grads]
        assert_same(held, want, "the gradient of bias", weight)


@task("row", contract=18)
def test_row_without_bias(student):
    """Where bias is None there is none to add, and no such parameter."""
    group = student.spawn(2)

    row_is_dense(group, X, WEIGHT, None, torch.tensor([1.0, 10.0]))


@task("row", contract=20)
@WORLDS
def test_row_on_any_number_of_ranks(student, draw, ranks):
    """Twelve inputs on 1, 2, 3 and 4 ranks."""
    x, dy, weight = small(draw, 2, 12), small(draw, 2, 5), small(draw, 5, 12)

    row_is_dense(student.spawn(ranks), x, weight, small(draw, 5), dy)


@task("row", contract=21)
def test_row_keeps_leading_dimensions(student, draw):
    """One layer takes a lone vector, several of them, and several of these."""
    weight, bias = small(draw, 5, 8), small(draw, 5)
    module = layer(student.spawn(2), ROW, weight, bias)

    for shape in SHAPES:
        x = small(draw, *shape, 8)
        y = F.linear(x, weight, bias)
        assert_each(outputs(module, PerRank(x.split(4, -1))), [y, y], "the output")


@task("row", contract=21)
@DTYPES
def test_row_keeps_the_dtype(student, draw, dtype):
    """Outputs and gradients have the dtype of x and of the weights."""
    sizes = [(2, 8), (5, 8), (5,), (2, 5)]
    x, weight, bias, dy = (small(draw, *shape, dtype=dtype) for shape in sizes)

    row_is_dense(student.spawn(2), x, weight, bias, dy)


@task("row", contract=22)
def test_row_used_for_x_and_then_for_2x(student):
    """1 + 2 times the gradients of x and weight, twice bias's; the first output stays."""
    group = student.spawn(2)
    module = layer(group, ROW, WEIGHT, BIAS)

    dy, parts = torch.tensor([1.0, 10.0]), PerRank([X[:2], X[2:]])
    got = there_and_back(group, module, parts, dy, "weight [bias]", twice=True)

    assert_each(got.outs, [torch.tensor([21.0, 47])] * 2, "the output for x")
    assert_each(got.dx, [torch.tensor([153.0, 186]), torch.tensor([219.0, 252])], "dx")
    dweight = [torch.tensor([[3.0, 0], [30, 0]]), torch.tensor([[6.0, 3], [60, 30]])]
    assert_each(got.of("weight"), dweight, "the gradient of weight")
    assert_equal(got.grads[0]["bias"], 2 * dy, "the gradient of bias on rank 0")


@task("row", contract=20)
def test_row_in_two_groups(student, draw):
    """Ranks 1 and 3 of four are a group of two; a layer of all four is made before it."""
    group = student.spawn(4)
    pair = group.subgroup(1, 3)
    wide, narrow = (
        [small(draw, *shape) for shape in [(2, size), (5, size), (5,), (2, 5)]] for size in (8, 6)
    )

    of_four, of_two = layer(group, ROW, *wide[1:3]), layer(pair, ROW, *narrow[1:3])

    row_is_dense(pair, *narrow, of_two)
    row_is_dense(group, *wide, of_four)


@task("row", contract=23)
@pytest.mark.parametrize("bias", [BIAS, None], ids=["bias", "no bias"])
def test_what_row_sends_forward(student, bias):
    """One all-reduce of the output: two float32, 8 bytes. Making the layer sends nothing."""
    group = student.spawn(2)

    with group.collectives() as sent:
        module = layer(group, ROW, WEIGHT, bias)
    assert_began(sent.per_rank, [], "in the constructor")
    with group.collectives() as sent:
        module(PerRank([X[:2], X[2:]]))
    assert_began(sent.per_rank, [("all_reduce", 8)], "in a forward")


@task("row", contract=23)
@pytest.mark.parametrize("bias", [BIAS, None], ids=["bias", "no bias"])
def test_what_row_sends_backward(student, bias):
    """Nothing: the gradient of a sum is the gradient of each of its terms."""
    group, parts = student.spawn(2), PerRank([X[:2], X[2:]])
    module = layer(group, ROW, WEIGHT, bias)

    sent = began_backward(group, module, parts, lambda: group.backward(module, (parts,), BIAS))

    assert_began(sent, [], "in a backward")


@task("row", contract=24)
def test_parameters_of_row(student):
    """A rank has its columns of the weight, and the whole bias; rank 0 alone may hold that."""
    module = layer(student.spawn(2), ROW, WEIGHT, BIAS)

    assert_each(module.weight, [WEIGHT[:, :2], WEIGHT[:, 2:]], "weight")
    first, second = expect(module.bias, PerRank, "bias")
    assert_equal(first, BIAS, "bias on rank 0")
    if second is not None:
        assert_equal(second, BIAS, "bias on rank 1")


@task("row", contract=24)
def test_row_keeps_no_more_than_its_part(student):
    """Each of two ranks keeps half of the weight, and a copy of bias, here a column of a tensor."""
    group, weight, bias = student.spawn(2), torch.zeros(2, 4000), torch.zeros(2, 4000)[:, 0]

    assert_keeps(group, lambda: layer(group, ROW, weight, bias), 16_008)


@task("row", contract=25)
@pytest.mark.parametrize(("size", "ranks"), [(5, 2), (6, 4), (3, 4)])
def test_inputs_that_cannot_be_split(student, size, ranks):
    """The constructor refuses what cannot be divided, on every rank."""
    group = student.spawn(ranks)

    with group.raises(ValueError):
        layer(group, ROW, torch.zeros(12, size), None)


@task("row", contract=26)
def test_row_takes_a_transposed_x(student, draw):
    """x may be the transpose of a matrix, as its gradient is then."""
    x, weight, bias, dy = (small(draw, *shape) for shape in [(8, 3), (5, 8), (5,), (3, 5)])

    row_is_dense(student.spawn(2), x.T, weight, bias, dy)


@task("row", contract=26)
def test_row_takes_views(student, draw):
    """Weight, bias, x and the gradient of the output may have gaps in memory."""
    x, weight, bias, dy = (
        view(small(draw, *shape)) for shape in [(2, 3, 8), (5, 8), (5,), (2, 3, 5)]
    )

    row_is_dense(student.spawn(2), x, weight, bias, dy)


@task("row", contract=26)
def test_row_changes_no_argument(student):
    """The full weight, bias, x and the gradient that arrives are as before."""
    group = student.spawn(2)
    weight, bias, dy = (
        PerRank(student.watch(value) for _ in range(2)) for value in (WEIGHT, BIAS, BIAS)
    )
    x = PerRank(student.watch(part) for part in (X[:2], X[2:]))

    group.backward(layer(group, ROW, weight, bias), (x,), dy)

    for name, watched in {"weight": weight, "bias": bias, "x": x, "the gradient": dy}.items():
        for rank in range(2):
            assert_unmodified(watched[rank], f"{name} on rank {rank}")


# --- Task 4: qkv -----------------------------------------------------------------------------

QKV = "QKVParallelLinear"
# Two query heads and one key/value head of width 1.
WQ, WK, WV = WEIGHT, WEIGHT[:1] + 1, WEIGHT[1:] - 1


def assert_heads(got: PerRank, rank: int, wanted: Sequence[Tensor]) -> None:
    """Compare q, k and v of a rank."""
    three = expect(got[rank], tuple[Tensor, Tensor, Tensor], f"the output on rank {rank}")
    for name, value, want in zip("qkv", three, wanted, strict=True):
        assert_equal(value, want, f"{name} on rank {rank}")


@task("qkv", contract=27)
def test_example_of_a_shared_head(student):
    """Two query heads, one key/value head, two ranks: both have the same k and v."""
    module = layer(student.spawn(2), QKV, WQ, WK, WV, 2, 1)

    got = outputs(module, X)

    for rank, q in enumerate([11.0, 27.0]):
        assert_heads(got, rank, [torch.tensor([value]) for value in (q, 15.0, 23.0)])


def numbered_heads(count: int, width: int) -> Tensor:
    """Return a weight [count · width, 1] whose rows say head and place: 20, 21 are head 2's."""
    return torch.tensor([[10.0 * head + row] for head in range(count) for row in range(width)])


# Which query heads and which key/value heads each rank has.
HEADS = [
    pytest.param(8, 2, [([0, 1], [0]), ([2, 3], [0]), ([4, 5], [1]), ([6, 7], [1])], id="handout"),
    pytest.param(4, 4, [([0, 1], [0, 1]), ([2, 3], [2, 3])], id="as many"),
    pytest.param(6, 3, [([0, 1], [0]), ([2, 3], [1]), ([4, 5], [2])], id="three ranks"),
    pytest.param(4, 2, [([0, 1, 2, 3], [0, 1])], id="one rank"),
]


@task("qkv", contract=27)
@pytest.mark.parametrize(("H", "G", "ranks"), HEADS)
def test_heads_of_each_rank(student, H, G, ranks):
    """For x = 1 outputs are the weights: rows of head 3 say 30 and 31 in q, and 1000 more in k."""
    q, k = numbered_heads(H, 2), numbered_heads(G, 2) + 1000
    module = layer(student.spawn(len(ranks)), QKV, q, k, k + 1000, H, G)

    got = outputs(module, torch.ones(1))

    for rank, (own, read) in enumerate(ranks):
        wanted = [weight.view(-1, 2)[heads].flatten() for weight, heads in ((q, own), (k, read))]
        assert_heads(got, rank, [*wanted, wanted[1] + 1000])


def qkv_is_dense(
    group: Group,
    x: Tensor,
    weights: Sequence[Tensor],
    heads: tuple[int, int],
    dys: Sequence[Tensor],
    module: GroupProxy | None = None,
) -> None:
    """Compare with three dense layers, where no rank shares a head with another."""
    module = module or layer(group, QKV, *weights, *heads)
    parts = [dy.split(dy.shape[-1] // group.size, -1) for dy in dys]
    got = there_and_back(group, module, x, PerRank(zip(*parts, strict=True)), "wq wk wv")
    outs = [expect(out, tuple[Tensor, Tensor, Tensor], "the output") for out in got.outs]
    whole = torch.zeros(x.shape, dtype=torch.float64)
    for index, name in enumerate("qkv"):
        y, dx, dweight = dense(F.linear, dys[index], x, weights[index])
        assert_joined([out[index] for out in outs], y, -1, name, x)
        assert_joined(got.of(f"w{name}"), dweight, 0, f"the gradient of w{name}", weights[index])
        whole += dx
    assert_same(got.dx, whole, "the gradient of x", x)


def projections(
    draw: Any, heads: tuple[int, int], *lead: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Draw x, three weights and the gradients of q, k and v, for heads of width 2."""
    sizes = [2 * heads[0], 2 * heads[1], 2 * heads[1]]
    weights = [small(draw, size, 3, dtype=dtype) for size in sizes]
    dys = [small(draw, *lead, size, dtype=dtype) for size in sizes]
    return small(draw, *lead, 3, dtype=dtype), weights, dys


@task("qkv", contract=28)
@pytest.mark.parametrize(
    ("ranks", "heads"), [(1, (4, 2)), (2, (4, 2)), (2, (4, 4)), (3, (6, 3)), (4, (8, 4))], ids=str
)
def test_gradients_of_unshared_heads(student, draw, ranks, heads):
    """Where each head is on one rank, the projections are three column-parallel layers."""
    x, weights, dys = projections(draw, heads, 2)

    qkv_is_dense(student.spawn(ranks), x, weights, heads, dys)


@task("qkv", contract=28)
def test_qkv_weights_learn_without_a_gradient_of_x(student):
    """An x that needs no gradient gets none; the weights get theirs."""
    group, dy = student.spawn(2), [torch.tensor([1.0]), torch.tensor([10.0])]
    module = layer(group, QKV, WEIGHT, WEIGHT, WEIGHT, 2, 2)

    upstream = PerRank((part, 2 * part, 3 * part) for part in dy)
    got = there_and_back(group, module, X, upstream, "wq wk wv", needs=False)

    for times, name in enumerate(("wq", "wk", "wv"), 1):
        wanted = [times * X[None], 10 * times * X[None]]
        assert_each(got.of(name), wanted, f"the gradient of {name}")


# To q, k and v of two ranks that share the key/value head of the example.
SHARED_DY = [
    [torch.tensor([value]) for value in values] for values in ((1.0, 1.0, 3.0), (10.0, 2.0, 4.0))
]


@task("qkv", contract=29)
def test_example_of_gradients_of_a_shared_head(student):
    """k's gradient is 1 on rank 0 and 2 on rank 1: wk's is 3x on both, wv's 7x; x's is the sum."""
    group = student.spawn(2)
    module = layer(group, QKV, WQ, WK, WV, 2, 1)

    got = there_and_back(group, module, X, PerRank(map(tuple, SHARED_DY)), "wq wk wv")

    assert_each(got.of("wq"), [X[None], 10 * X[None]], "the gradient of wq")
    assert_each(got.of("wk"), [3 * X[None]] * 2, "the gradient of wk")
    assert_each(got.of("wv"), [7 * X[None]] * 2, "the gradient of wv")
    assert_each(got.dx, [torch.tensor([85.0, 106, 127, 148])] * 2, "the gradient of x")


@task("qkv", contract=29)
def test_gradients_of_two_shared_heads(student):
    """The table of the handout: ranks 0 and 1 share a head, and ranks 2 and 3 another."""
    group, k = student.spawn(4), numbered_heads(2, 2)
    module = layer(group, QKV, numbered_heads(8, 2), k, k, 8, 2)

    dy = [torch.tensor([float(10**rank), 2.0 * 10**rank]) for rank in range(4)]
    upstream = PerRank((torch.zeros(4), part, 3 * part) for part in dy)
    got = there_and_back(group, module, torch.ones(1), upstream, "wq wk wv")

    first, second = torch.tensor([[11.0], [22]]), torch.tensor([[1100.0], [2200]])
    wanted = [first, first, second, second]
    assert_each(got.of("wk"), wanted, "the gradient of wk")
    assert_each(got.of("wv"), [3 * want for want in wanted], "the gradient of wv")


@task("qkv", contract=30)
def test_qkv_keeps_leading_dimensions(student, draw):
    """One layer takes a lone vector, several of them, and several of these; heads stay flat."""
    _, weights, _ = projections(draw, (4, 2))
    module = layer(student.spawn(2), QKV, *weights, 4, 2)

    for shape in SHAPES:
        x = small(draw, *shape, 3)
        whole = [F.linear(x, weight) for weight in weights]
        got = outputs(module, x)
        for rank in range(2):
            assert_heads(got, rank, [y.split(y.shape[-1] // 2, -1)[rank] for y in whole])


@task("qkv", contract=30)
@DTYPES
def test_qkv_keeps_the_dtype(student, draw, dtype):
    """Outputs and gradients have the dtype of x and of the weights."""
    x, weights, dys = projections(draw, (4, 2), 2, dtype=dtype)

    qkv_is_dense(student.spawn(2), x, weights, (4, 2), dys)


@task("qkv", contract=31)
def test_qkv_used_for_x_and_then_for_2x(student):
    """All gradients are 1 + 2 times those of the example, the shared head's too."""
    group = student.spawn(2)
    module = layer(group, QKV, WQ, WK, WV, 2, 1)

    upstream = PerRank(map(tuple, SHARED_DY))
    got = there_and_back(group, module, X, upstream, "wq wk wv", twice=True)

    assert_each(got.of("wq"), [3 * X[None], 30 * X[None]], "the gradient of wq")
    assert_each(got.of("wk"), [9 * X[None]] * 2, "the gradient of wk")
    assert_each(got.of("wv"), [21 * X[None]] * 2, "the gradient of wv")
    assert_each(got.dx, [3 * torch.tensor([85.0, 106, 127, 148])] * 2, "the gradient of x")


@task("qkv", contract=32)
def test_qkv_in_two_groups(student, draw):
    """Ranks 1 and 3 of four are a group of two; a layer of all four is made before it."""
    group = student.spawn(4)
    pair = group.subgroup(1, 3)
    wide, narrow = projections(draw, (4, 4), 2), projections(draw, (6, 2), 2)

    of_four = layer(group, QKV, *wide[1], 4, 4)
    of_two = layer(pair, QKV, *narrow[1], 6, 2)

    qkv_is_dense(pair, narrow[0], narrow[1], (6, 2), narrow[2], of_two)
    qkv_is_dense(group, wide[0], wide[1], (4, 4), wide[2], of_four)


@task("qkv", contract=32)
def test_head_shared_in_a_group_of_some_ranks(student):
    """Of four ranks numbers 1 and 3 share the head of the example: two ranks make the sum."""
    pair = student.spawn(4).subgroup(1, 3)
    module = layer(pair, QKV, WQ, WK, WV, 2, 1)

    got = there_and_back(pair, module, X, PerRank(map(tuple, SHARED_DY)), "wq wk wv")

    assert_each(got.of("wk"), [3 * X[None]] * 2, "the gradient of wk")
    assert_each(got.dx, [torch.tensor([85.0, 106, 127, 148])] * 2, "the gradient of x")


@task("qkv", contract=33)
@pytest.mark.parametrize("kv_heads", [2, 1])
def test_what_qkv_sends_forward(student, kv_heads):
    """Nothing, and nothing in the constructor."""
    group, weight = student.spawn(2), WEIGHT[:kv_heads]

    with group.collectives() as sent:
        module = layer(group, QKV, WQ, weight, weight, 2, kv_heads)
    assert_began(sent.per_rank, [], "in the constructor")
    with group.collectives() as sent:
        module(X)
    assert_began(sent.per_rank, [], "in a forward")


@task("qkv", contract=34)
def test_parameters_of_qkv(student):
    """wq of a rank has the rows of its query head; wk and wv have the one head, on both ranks."""
    module = layer(student.spawn(2), QKV, WQ, WK, WV, 2, 1)

    assert_each(module.wq, [WQ[:1], WQ[1:]], "wq")
    assert_each(module.wk, [WK, WK], "wk")
    assert_each(module.wv, [WV, WV], "wv")


@task("qkv", contract=34)
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_qkv_keeps_its_heads_only(student, kv_heads):
    """A head takes 32,000 bytes: of q a rank keeps one of four, of k and v one of four or two."""
    group = student.spawn(4)
    q, k = torch.zeros(4, 8000), torch.zeros(kv_heads, 8000)

    assert_keeps(group, lambda: layer(group, QKV, q, k, k, 4, kv_heads), 96_000)


@task("qkv", contract=35)
@pytest.mark.parametrize(("heads", "kv_heads", "ranks"), [(3, 1, 2), (2, 1, 4), (6, 2, 4)])
def test_query_heads_that_cannot_be_split(student, heads, kv_heads, ranks):
    """The error, on every rank, names num_heads, though the rows could be divided."""
    group = student.spawn(ranks)
    q, k = torch.zeros(4 * heads, 5), torch.zeros(4 * kv_heads, 5)

    with group.raises(ValueError, naming="num_heads"):
        layer(group, QKV, q, k, k, heads, kv_heads)


@task("qkv", contract=36)
@pytest.mark.parametrize(("heads", "kv_heads", "ranks"), [(6, 3, 2), (12, 3, 4), (12, 6, 4)])
def test_key_value_heads_that_cannot_be_split(student, heads, kv_heads, ranks):
    """The error, on every rank, names num_kv_heads, though the rows could be divided."""
    group = student.spawn(ranks)
    q, k = torch.zeros(4 * heads, 5), torch.zeros(4 * kv_heads, 5)

    with group.raises(ValueError, naming="num_kv_heads"):
        layer(group, QKV, q, k, k, heads, kv_heads)


@task("qkv", contract=37)
def test_qkv_takes_views(student, draw):
    """The weights, x and the gradients of q, k and v may have gaps in memory."""
    x, weights, dys = projections(draw, (4, 2), 2, 3)

    qkv_is_dense(
        student.spawn(2), view(x), [view(w) for w in weights], (4, 2), [view(dy) for dy in dys]
    )


@task("qkv", contract=37)
def test_qkv_changes_no_argument(student):
    """The full weights, x and the gradients that arrive are as before."""
    group = student.spawn(2)
    wq, wk, wv, x = (PerRank(student.watch(value) for _ in range(2)) for value in (WQ, WK, WV, X))
    dy = PerRank(tuple(student.watch(part) for part in parts) for parts in SHARED_DY)

    group.backward(layer(group, QKV, wq, wk, wv, 2, 1), (x,), dy)

    for rank in range(2):
        for name, watched in {"wq": wq, "wk": wk, "wv": wv, "x": x}.items():
            assert_unmodified(watched[rank], f"{name} on rank {rank}")
        for name, watched in zip("qkv", dy[rank], strict=True):
            assert_unmodified(watched, f"the gradient of {name} on rank {rank}")


# --- Task 5: mlp -----------------------------------------------------------------------------

MLP = "ParallelMLP"
MLP_NAMES = ("w_gate", "w_up", "w_down")

# Of float32 and bfloat16 silu(32) is 32, with slope 1; silu(0) is 0, with slope 1/2. So with
# X_MLP the first feature lets its up-projection through 32 times, and the second lets nothing.
X_MLP = torch.tensor([1.0, 3])
GATE = torch.tensor([[32.0, 0], [0, 0]])
UP = torch.tensor([[1.0, 2], [5, 5]])
DOWN = torch.tensor([[1.0, 9], [2, 9]])


def dense_mlp(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """Compute the dense feed-forward as the handout writes it."""
    return F.linear(F.silu(F.linear(x, w_gate)) * F.linear(x, w_up), w_down)


@task("mlp", contract=38)
def test_example_of_an_mlp(student):
    """A gate of 0 lets nothing through; silu(30) is 30 in float32, and 30 · 7 is 210."""
    w_gate = torch.tensor([[30.0, 0], [0, 0]])
    module = layer(student.spawn(2), MLP, w_gate, UP, DOWN)

    assert_each(outputs(module, X_MLP), [torch.tensor([210.0, 420])] * 2, "the output")


@task("mlp", contract=38)
def test_mlp_equals_the_dense_formula(student, draw):
    """Numbers of any kind: negative gates, and every feature counts."""
    x, w_gate, w_up = draw.normal(3, 5), draw.normal(8, 5), draw.normal(8, 5)
    w_down = draw.normal(5, 8)

    got = outputs(layer(student.spawn(2), MLP, w_gate, w_up, w_down), x)

    want = dense_mlp(*(value.double() for value in (x, w_gate, w_up, w_down)))
    assert_same(got, want, "the output")


def mlp_is_dense(
    group: Group,
    x: Tensor,
    weights: Sequence[Tensor],
    dy: Tensor,
    module: GroupProxy | None = None,
) -> None:
    """Compare an MLP, and all its gradients, with the dense one."""
    module = module or layer(group, MLP, *weights)
    got = there_and_back(group, module, x, dy, " ".join(MLP_NAMES))
    y, dx, *grads = dense(dense_mlp, dy, x, *weights)
    assert_same(got.outs, y, "the output", x)
    assert_same(got.dx, dx, "the gradient of x", x)
    for name, grad, axis in zip(MLP_NAMES, grads, (0, 0, 1), strict=True):
        assert_joined(got.of(name), grad, axis, f"the gradient of {name}", x)


@task("mlp", contract=39)
@pytest.mark.parametrize("needs", [True, False], ids=["x needs one", "x needs none"])
def test_example_of_gradients_of_an_mlp(student, needs):
    """dy = [1, 1] reaches the hidden features as [3, 18], their gates as [21, 180]."""
    group = student.spawn(2)
    module = layer(group, MLP, GATE, UP, DOWN)

    dy = torch.tensor([1.0, 1])
    got = there_and_back(group, module, X_MLP, dy, " ".join(MLP_NAMES), needs=needs)

    # The gate of the second feature is 0, where silu has slope 1/2.
    wanted = [torch.tensor([[21.0, 63]]), torch.tensor([[180.0, 540]])]
    assert_each(got.of("w_gate"), wanted, "the gradient of w_gate")
    wanted = [torch.tensor([[96.0, 288]]), torch.tensor([[0.0, 0]])]
    assert_each(got.of("w_up"), wanted, "the gradient of w_up")
    wanted = [torch.tensor([[224.0], [224]]), torch.tensor([[0.0], [0]])]
    assert_each(got.of("w_down"), wanted, "the gradient of w_down")
    if needs:
        # 21 · [32, 0] from the first gate, 96 · [1, 2] from the first up-projection.
        assert_each(got.dx, [torch.tensor([768.0, 192])] * 2, "the gradient of x")


def feed_forward(draw: Any, features: int, *lead: int) -> tuple[Tensor, tuple[Tensor, ...], Tensor]:
    """Draw x, the three weights and the gradient of the output, for a width of 5."""
    shapes = [(features, 5), (features, 5), (5, features)]
    weights = tuple(0.5 * draw.normal(*shape) for shape in shapes)
    return draw.normal(*lead, 5), weights, draw.normal(*lead, 5)


@task("mlp", contract=40)
@WORLDS
def test_mlp_on_any_number_of_ranks(student, draw, ranks):
    """Twelve hidden features on 1, 2, 3 and 4 ranks."""
    mlp_is_dense(student.spawn(ranks), *feed_forward(draw, 12, 3))


@task("mlp", contract=41)
def test_mlp_keeps_leading_dimensions(student):
    """One layer takes a lone vector, several of them, and several of these."""
    module = layer(student.spawn(2), MLP, GATE, UP, DOWN)

    for shape in SHAPES:
        x = X_MLP.expand(*shape, 2).contiguous()
        want = torch.tensor([224.0, 448]).expand(*shape, 2)
        assert_each(outputs(module, x), [want, want], "the output")


@task("mlp", contract=41)
@DTYPES
def test_mlp_keeps_the_dtype(student, dtype):
    """Outputs and gradients have the dtype of x and of the weights."""
    x, dy = X_MLP.to(dtype), torch.tensor([1.0, 1], dtype=dtype)

    weights = [weight.to(dtype) for weight in (GATE, UP, DOWN)]
    mlp_is_dense(student.spawn(2), x, weights, dy)


@task("mlp", contract=42)
def test_mlp_used_for_x_and_then_for_2x(student, draw):
    """The gradients for x and for 2x add up, and the first output stays."""
    x, weights, dy = feed_forward(draw, 6, 3)
    group = student.spawn(2)
    module = layer(group, MLP, *weights)

    got = there_and_back(group, module, x, dy, " ".join(MLP_NAMES), twice=True)

    def both(x: Tensor, *weights: Tensor) -> Tensor:
        return torch.stack((dense_mlp(x, *weights), dense_mlp(2 * x, *weights)))

    y, dx, *grads = dense(both, torch.stack((dy, dy)), x, *weights)
    assert_same(got.outs, y[0], "the output for x")
    assert_same(got.dx, dx, "the gradient of x")
    for name, grad, axis in zip(MLP_NAMES, grads, (0, 0, 1), strict=True):
        assert_joined(got.of(name), grad, axis, f"the gradient of {name}")


@task("mlp", contract=40)
def test_mlp_in_two_groups(student, draw):
    """Ranks 1 and 3 of four are a group of two; a layer of all four is made before it."""
    group = student.spawn(4)
    pair = group.subgroup(1, 3)
    wide, narrow = feed_forward(draw, 8, 3), feed_forward(draw, 6, 3)

    of_four, of_two = layer(group, MLP, *wide[1]), layer(pair, MLP, *narrow[1])

    mlp_is_dense(pair, *narrow, of_two)
    mlp_is_dense(group, *wide, of_four)


@task("mlp", contract=43)
def test_what_an_mlp_sends_forward(student):
    """One all-reduce of the output: two float32, 8 bytes. Making the layer sends nothing."""
    group = student.spawn(2)

    with group.collectives() as sent:
        module = layer(group, MLP, GATE, UP, DOWN)
    assert_began(sent.per_rank, [], "in the constructor")
    with group.collectives() as sent:
        module(X_MLP)
    assert_began(sent.per_rank, [("all_reduce", 8)], "in a forward")


@task("mlp", contract=43)
@pytest.mark.parametrize("needs", [True, False], ids=["x needs one", "x needs none"])
def test_what_an_mlp_sends_backward(student, needs):
    """One all-reduce of the gradient of x, two float32: 8 bytes. Nothing if x needs none."""
    group = student.spawn(2)
    module = layer(group, MLP, GATE, UP, DOWN)

    def run() -> None:
        group.backward(module, (X_MLP,), X_MLP, needs=needs)

    want = [("all_reduce", 8)] if needs else []
    assert_began(began_backward(group, module, X_MLP, run), want, "in a backward")


@task("mlp", contract=44)
def test_parameters_of_an_mlp(student):
    """A rank has its rows of w_gate and w_up, and its column of w_down."""
    module = layer(student.spawn(2), MLP, GATE, UP, DOWN)

    assert_each(module.w_gate, [GATE[:1], GATE[1:]], "w_gate")
    assert_each(module.w_up, [UP[:1], UP[1:]], "w_up")
    assert_each(module.w_down, [DOWN[:, :1], DOWN[:, 1:]], "w_down")


@task("mlp", contract=44)
def test_mlp_keeps_no_more_than_its_part(student):
    """Of three weights of 32,000 bytes each of two ranks keeps one half."""
    group = student.spawn(2)
    weight, w_down = torch.zeros(4000, 2), torch.zeros(2, 4000)

    assert_keeps(group, lambda: layer(group, MLP, weight, weight, w_down), 48_000)


@task("mlp", contract=45)
@pytest.mark.parametrize(("features", "ranks"), [(5, 2), (6, 4), (3, 4)])
def test_hidden_features_that_cannot_be_split(student, features, ranks):
    """The constructor refuses what cannot be divided, on every rank."""
    group, weight = student.spawn(ranks), torch.zeros(features, 12)

    with group.raises(ValueError):
        layer(group, MLP, weight, weight, torch.zeros(12, features))


@task("mlp", contract=46)
def test_mlp_takes_views(student, draw):
    """The weights, x and the gradient of the output may have gaps in memory."""
    x, weights, dy = feed_forward(draw, 6, 3, 2)

    mlp_is_dense(student.spawn(2), view(x), [view(weight) for weight in weights], view(dy))


@task("mlp", contract=46)
def test_mlp_changes_no_argument(student):
    """The full weights, x and the gradient that arrives are as before."""
    group = student.spawn(2)
    w_gate, w_up, w_down, x, dy = (
        PerRank(student.watch(value) for _ in range(2)) for value in (GATE, UP, DOWN, X_MLP, X_MLP)
    )

    group.backward(layer(group, MLP, w_gate, w_up, w_down), (x,), dy)

    named = {"w_gate": w_gate, "w_up": w_up, "w_down": w_down, "x": x, "the gradient": dy}
    for name, watched in named.items():
        for rank in range(2):
            assert_unmodified(watched[rank], f"{name} on rank {rank}")


# --- Task 6: cost ----------------------------------------------------------------------------


MUCH = 1e30  # an int may be larger than any float


def assert_sends(student: Any, op: str, args: tuple[int, int, int], want: float) -> None:
    """Compare the bytes of an op, given elements, element_size and world."""
    got = expect(student.communication_bytes(op, *args), int | float, f"the bytes of {op}")
    got = float(max(min(got, MUCH), -MUCH))
    check(abs(got - want) <= 1e-9 * want, f"{op} sends {got} bytes, expected {float(want)}")


@task("cost", contract=47)
@pytest.mark.parametrize(
    ("op", "want"),
    [("all_reduce", 6000), ("all_gather", 3000), ("reduce_scatter", 3000), ("broadcast", 4000)],
)
def test_example_of_bytes(student, op, want):
    """1000 float32 numbers, 4 ranks: chunks of 1000 bytes, 3, 4 or 6 of them sent."""
    assert_sends(student, op, (1000, 4, 4), want)


@task("cost", contract=48)
@pytest.mark.parametrize(
    ("op", "args", "want"),
    [
        ("all_reduce", (10, 1, 3), 40 / 3),
        ("all_gather", (10, 1, 3), 20 / 3),
        ("reduce_scatter", (3, 2, 8), 5.25),
        ("broadcast", (7, 2, 5), 14),
        ("all_reduce", (70 * 10**9, 2, 8), 245e9),
        ("all_reduce", (0, 4, 3), 0),
        ("broadcast", (0, 4, 3), 0),
    ],
    ids=str,
)
def test_bytes_of_any_numbers(student, op, args, want):
    """What the ranks do not divide is not rounded; nothing costs nothing, and much is counted."""
    assert_sends(student, op, args, want)


@task("cost", contract=49)
@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter", "broadcast"])
def test_one_rank_alone_is_quiet(student, op):
    """With one rank there is nobody to send to."""
    assert_sends(student, op, (1000, 4, 1), 0)


@task("cost", contract=50)
@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("op", ["gather", "AllReduce", "all_reduce ", "allgather", "send"])
def test_unknown_op(student, op, world):
    """What is none of the four is a ValueError that names op, also with one rank."""
    with student.raises(ValueError, naming="op"):
        student.communication_bytes(op, 1000, 4, world)


@task("cost", contract=49)
@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("op", ["all_reduce", "all_gather", "reduce_scatter", "broadcast"])
def test_bytes_are_a_float(student, op, world):
    """4000.0, not 4000, and 0.0 where nothing is sent."""
    expect(student.communication_bytes(op, 1000, 4, world), float, f"the bytes of {op}")
