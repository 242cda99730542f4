"""Hidden suite of lab 08. A rank's answer is a slice of the dense layer's, forward and backward.

Features are 12 times something odd, so that 1 to 4 ranks divide them and no two ranks have equal
parts. Collectives and bytes are counted on the ranks: they police cost, values are judged here.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear, silu

from grader.suite import (
    Group,
    GroupProxy,
    Mismatch,
    PerRank,
    assert_close,
    assert_equal,
    assert_unmodified,
    check,
    expect,
    task,
)
from reference import tp_linear as oracle

# What is imported late, and NCCL, take seconds to start. After a hang there is less patience.
CALL_SECONDS = {"cpu": (10.0, 4.0), "cuda": (10.0, 10.0)}
SLACK = 2048  # bytes that a rank may hold beside its shards
RELEASE_SECONDS = 2.0  # usually 5 ms, for what a collective worked on and, with it, its graph
WORLDS = (1, 2, 3, 4)
LEADS = [(), (5,), (1, 1), (2, 3, 4)]
BFLOAT16, FLOAT64 = torch.bfloat16, torch.float64


@pytest.fixture(scope="module")
def hangs() -> list[float]:
    """How long the tests took that ran into their limit."""
    return []


@pytest.fixture(autouse=True)
def _short_calls(student: Any, device: str, hangs: list[float]) -> Iterator[None]:
    """End a hang early: a rank that waits for another waits as long as it is let."""
    limit = CALL_SECONDS[device][bool(hangs)]
    started = time.monotonic()
    with student.time_limit(limit):
        yield
    if time.monotonic() - started >= limit:
        hangs.append(time.monotonic() - started)


# --- shards ----------------------------------------------------------------------------------


def shard(student: Any, name: str, weight: Tensor, rank: int, world: int) -> Any:
    return getattr(student, name)(weight, rank, world)


def own_part(name: str, weight: Tensor, rank: int, world: int) -> Tensor:
    if name == "column_shard":
        return weight[oracle.part(weight.shape[0], rank, world)]
    return weight[:, oracle.part(weight.shape[1], rank, world)]


SHARDS = pytest.mark.parametrize("name", ["column_shard", "row_shard"])


@task("shards", contract=1, gate=True)
@SHARDS
@pytest.mark.parametrize("world", [2, 3, 4])
def test_parts_in_the_order_of_the_ranks(student, draw, name, world):
    """column_shard cuts the output features, row_shard the input features, rank by rank."""
    weight = draw.normal(36, 60)

    for rank in range(world):
        got = shard(student, name, weight, rank, world)

        assert_equal(got, own_part(name, weight, rank, world), f"the shard of rank {rank}")


@task("shards", contract=2)
@SHARDS
def test_one_rank_holds_everything(student, draw, name):
    """With one rank the shard is the whole weight."""
    weight = draw.normal(7, 11)

    assert_equal(shard(student, name, weight, 0, 1), weight, "the shard")


@task("shards", contract=2)
@SHARDS
@pytest.mark.parametrize("world", [5, 8, 17])
def test_any_number_of_ranks(student, draw, name, world):
    """The number of ranks may be anything that divides the features, down to one feature each."""
    weight = draw.normal(world, 3 * world) if name == "column_shard" else draw.normal(9, world)

    for rank in draw.shuffled(range(world))[:4]:
        got = shard(student, name, weight, rank, world)

        assert_equal(got, own_part(name, weight, rank, world), f"the shard of rank {rank}")


@task("shards", contract=3)
@SHARDS
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.int64], ids=str)
def test_values_and_dtype_stay(student, draw, name, dtype):
    """A shard has the weight's values and dtype, bit for bit, whatever the weight's strides are."""
    weight = draw.normal(42, 50, scale=40).to(dtype).t()[4:40, 3:27]  # a view, columns first

    for rank in range(3):
        got = shard(student, name, weight, rank, 3)

        assert_equal(got, own_part(name, weight, rank, 3), f"the shard of rank {rank}")


@task("shards", contract=4)
@SHARDS
@pytest.mark.parametrize(("size", "world"), [(10, 3), (9, 2), (3, 4), (7, 4)])
def test_what_cannot_be_divided_is_refused(student, draw, name, size, world):
    """Features that the ranks do not divide are a ValueError on every rank."""
    # The other axis would divide: it is not the one that counts.
    weight = draw.normal(size, 12) if name == "column_shard" else draw.normal(12, size)

    for rank in range(world):
        with student.raises(ValueError):
            shard(student, name, weight, rank, world)


@task("shards", contract=4)
@SHARDS
def test_other_axis_need_not_divide(student, draw, name):
    """Only the axis that is cut has to be divisible."""
    weight = draw.normal(12, 7) if name == "column_shard" else draw.normal(7, 12)

    got = shard(student, name, weight, 2, 4)

    assert_equal(got, own_part(name, weight, 2, 4), "the shard")


@task("shards", contract=5)
@SHARDS
def test_weight_is_left_alone(student, draw, name):
    """The weight is not modified."""
    weight = student.watch(draw.normal(12, 24))

    expect(shard(student, name, weight, 1, 3), Tensor)

    assert_unmodified(weight, "weight")


# --- what the layers have in common ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """A forward and backward of one rank: output, gradient of x, gradients of the parameters."""

    rank: int
    out: Any
    dx: Any
    grads: dict[str, Any]


def build(group: Group, name: str, *args: Any, **options: Any) -> GroupProxy:
    """Make a layer on every rank."""
    module = getattr(group, name)(*args, group.process_group, **options)
    if not isinstance(module, GroupProxy):
        raise Mismatch(f"{name} should give an object on every rank")
    return module


def each(values: Any) -> PerRank:
    """Return what a call gave on each rank."""
    if not isinstance(values, PerRank):
        raise Mismatch("the result should be tensors, not an object")
    return values


def train(
    group: Group,
    module: GroupProxy,
    x: Any,
    dy: Any,
    names: Sequence[str],
    needs: bool = True,
    twice: bool = False,
    absent: Sequence[str] = (),
) -> list[Step]:
    """Go forward and backward on every rank; the parameters must have these names.

    Those in ``absent`` may be on rank 0 alone.
    """
    steps: list[Step] = []
    replies = group.backward(module, (x,), dy, needs=needs, twice=twice)
    for rank, reply in enumerate(each(replies)):
        expect(reply, tuple)
        check(len(reply) == 3, f"a step gave {len(reply)} values, expected 3")
        out, dxs, grads = reply
        expect(dxs, list)
        expect(grads, dict)
        have = ", ".join(sorted(grads)) or "none"
        wanted = ", ".join(sorted(names))
        fits = set(grads) == set(names) or (rank > 0 and set(grads) == set(names) - set(absent))
        check(fits, f"named_parameters() on rank {rank} has {have}, expected {wanted}")
        check(len(dxs) == 1, f"a step gave {len(dxs)} gradients of x, expected 1")
        if not needs:
            check(dxs[0] is None, "x, which needs no gradient, got one")
        steps.append(Step(rank, out, dxs[0], grads))
    return steps


@dataclass(frozen=True, slots=True)
class Dense:
    """A linear layer, whole: its inputs, and in float64 what it gives.

    With ``twice``, x goes through it and then 2x, before gradients come back; here they add up.
    """

    x: Tensor
    weight: Tensor
    bias: Tensor | None
    dy: Tensor
    twice: bool = False

    @property
    def names(self) -> list[str]:
        return ["weight"] if self.bias is None else ["weight", "bias"]

    @property
    def y(self) -> Tensor:
        return oracle.linear(self.x, self.weight, self.bias)

    @property
    def gradients(self) -> tuple[Tensor, Tensor, Tensor]:
        dx, dweight, dbias = oracle.linear_gradients(self.x, self.weight, self.dy)
        return (3 * dx, 3 * dweight, 2 * dbias) if self.twice else (dx, dweight, dbias)


def dense(
    draw: Any,
    inner: int,
    outer: int,
    lead: Sequence[int] = (3, 5),
    bias: bool = True,
    dtype: torch.dtype = torch.float32,
) -> Dense:
    return Dense(
        draw.normal(*lead, inner, dtype=dtype),
        draw.normal(outer, inner, dtype=dtype, scale=0.3),
        draw.normal(outer, dtype=dtype) if bias else None,
        draw.normal(*lead, outer, dtype=dtype),
    )


def loosened(got: Any, want: Tensor, like: Tensor, inner: int, what: str, case: str) -> None:
    """Compare; in bfloat16 each term of a sum over ranks is rounded, as the sum is.

    A rank may add up in any order, number by number too: that doubles the limit of a sum in lanes.
    """
    trusted = want.to(like.dtype) if like.dtype == BFLOAT16 else ()
    assert_close(got, want, case, like=like, inner=4 * inner, trusted=trusted, what=what)


def assert_out(step: Step, want: Tensor, like: Tensor, inner: int) -> None:
    loosened(step.out, want, like, inner, f"the output on rank {step.rank}", "matmul")


def assert_gradient(
    step: Step, got: Any, name: str, want: Tensor, like: Tensor, terms: int = 1
) -> None:
    """Compare; ``terms`` is the length of the sum behind each element where that is long."""
    what = f"the gradient of {name} on rank {step.rank}"
    loosened(got, want, like, terms, what, "backward")


# How memory may lie under a tensor: each draws one of a shape.
LAYOUTS: dict[str, Callable[..., Tensor]] = {
    "columns strided": lambda draw, *shape: draw.normal(*shape[:-1], 2 * shape[-1])[..., ::2],
    "rows strided": lambda draw, rows, *rest: draw.normal(2 * rows, *rest)[::2],
    "columns first": lambda draw, *shape: draw.normal(shape[-1], *shape[:-1]).movedim(0, -1),
    "expanded": lambda draw, rows, *rest: draw.normal(1, *rest).expand(rows, *rest),
    "a slice": lambda draw, *shape: draw.normal(*shape[:-1], shape[-1] + 5)[..., 3:-2],
}
ANY_LAYOUT = pytest.mark.parametrize("layout", list(LAYOUTS))
ROWS = [(4,), (3, 5)]  # leading dimensions: a matrix is multiplied by other code than a batch
FEW_ROWS = [(0,), (1,), (2,)]


class Whole:
    """Draws small whole numbers: sums of their products are exact, whatever cancels."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def normal(self, *shape: int, scale: float = 1.0, **options: Any) -> Tensor:
        return (2 * self._draw.normal(*shape, **options)).round()


class Positive(Whole):
    """Draws positive numbers: in sums of their products nothing cancels."""

    def normal(self, *shape: int, scale: float = 1.0, **options: Any) -> Tensor:
        return scale * (self._draw.normal(*shape, **options).abs() + 0.125)


def laid(draw: Any, layout: str, *shape: int) -> Tensor:
    return LAYOUTS[layout](draw, *shape)


def dense_laid(draw: Any, layout: str, inner: int, outer: int, lead: Sequence[int]) -> Dense:
    """Draw a linear layer of which each tensor lies in memory in one way."""
    shapes = (*lead, inner), (outer, inner), (outer,), (*lead, outer)
    return Dense(*(laid(draw, layout, *shape) for shape in shapes))


BUILDERS = {"column": "ColumnParallelLinear", "row": "RowParallelLinear"}


def cut(tensor: Tensor, rank: int, world: int) -> Tensor:
    """Return a rank's part of the last axis, a view."""
    return tensor[..., oracle.part(tensor.shape[-1], rank, world)]


def cuts(tensor: Tensor, world: int) -> PerRank:
    return PerRank(cut(tensor, rank, world) for rank in range(world))


def size_of(*tensors: Tensor) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def shown(collectives: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{kind} of {count} bytes" for kind, count in collectives) or "none"


def assert_sent(per_rank: Any, wanted: Sequence[tuple[str, int]], when: str) -> None:
    for rank, got in enumerate(per_rank):
        same = got == list(wanted)
        message = f"rank {rank} began {shown(got)}, expected {shown(wanted)}"
        check(same, f"collectives of {when}: {message}")


def sent_backward(group: Group, module: GroupProxy, x: Any, step: Callable[[], Any]) -> list[Any]:
    """Return what each rank sends in a step, less what it sends in the forward alone."""
    with group.collectives() as alone:
        module(x)
    with group.collectives() as sent:
        step()
    return [both[len(first) :] for both, first in zip(sent.per_rank, alone.per_rank, strict=True)]


def assert_holds(group: Group, before: PerRank, limit: int, what: str) -> None:
    """Fail if a rank holds more than before and this; a thread of gloo's may let go a bit late."""
    patience = time.monotonic() + RELEASE_SECONDS
    while True:
        held = max(now - then for then, now in zip(before, group.held_bytes(), strict=True))
        if held <= limit + SLACK or time.monotonic() > patience:
            break
        time.sleep(0.02)
    text = f"{what} a rank holds {held} bytes, expected at most {limit + SLACK}, its own part"
    check(held <= limit + SLACK, text)


def assert_shards(values: Any, wanted: Sequence[Tensor], name: str) -> None:
    for rank, (got, want) in enumerate(zip(each(values), wanted, strict=True)):
        assert_equal(got, want, f"{name} of rank {rank}")


# --- column ----------------------------------------------------------------------------------


def column_step(group: Group, case: Dense, gather: bool = False, needs: bool = True) -> list[Step]:
    """Make a column-parallel layer and go through it; each rank's upstream is its own part."""
    module = column(group, case, gather)
    return column_train(group, module, case, gather, needs)


def column(group: Group, case: Dense, gather: bool = False) -> GroupProxy:
    options = {"gather_output": True} if gather else {}
    return build(group, "ColumnParallelLinear", case.weight, case.bias, **options)


def column_train(
    group: Group, module: GroupProxy, case: Dense, gather: bool = False, needs: bool = True
) -> list[Step]:
    dy = case.dy if gather else cuts(case.dy, group.size)
    return train(group, module, case.x, dy, case.names, needs, case.twice)


def assert_column(steps: list[Step], case: Dense, gather: bool = False, needs: bool = True) -> None:
    """Compare with the dense layer: outputs, and the gradients of x and of the rank's features."""
    outer, inner = case.weight.shape
    dx, dweight, dbias = case.gradients
    for step in steps:
        own = oracle.part(outer, step.rank, len(steps))
        assert_out(step, case.y if gather else case.y[..., own], case.x, inner)
        if needs:
            assert_gradient(step, step.dx, "x", dx, case.x, outer)
        assert_gradient(step, step.grads["weight"], "weight", dweight[own], case.weight)
        if case.bias is not None:
            assert_gradient(step, step.grads["bias"], "bias", dbias[own], case.bias)


@task("column", contract=6, gate=True)
def test_column_outputs(student, draw):
    """A rank's output is its part of the dense layer's output features, with its part of bias."""
    case = dense(draw, 35, 36)
    group = student.spawn(2)

    got = each(column(group, case)(case.x))

    for rank, out in enumerate(got):
        step = Step(rank, out, None, {})
        assert_out(step, cut(case.y, rank, 2), case.x, 35)


@task("column", contract=7, gate=True)
def test_column_gradients_of_two_ranks(student, draw):
    """Gradients are the dense layer's: x whole on every rank, the rank's part of weight."""
    case = dense(draw, 35, 36)

    assert_column(column_step(student.spawn(2), case), case)


@task("column", contract=6)
@pytest.mark.parametrize("world", WORLDS)
def test_column_that_has_no_bias(student, draw, world):
    """bias may be None: values and gradients are those of a dense layer without one."""
    case = dense(draw, 35, 60, bias=False)

    assert_column(column_step(student.spawn(world), case), case)


@task("column", contract=8)
@pytest.mark.parametrize("world", WORLDS)
def test_column_equals_the_dense_layer(student, draw, world):
    """Values and gradients are the dense layer's in any world."""
    case = dense(draw, 35, 60)

    assert_column(column_step(student.spawn(world), case), case)


@task("column", contract=9)
@pytest.mark.parametrize("world", WORLDS)
def test_gathered_output(student, draw, world):
    """With gather_output every rank has all features in order; gradients stay the dense layer's."""
    case = dense(draw, 35, 36, bias=world % 2 == 0)

    assert_column(column_step(student.spawn(world), case, gather=True), case, gather=True)


@task("column", contract=10)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_column_leading_dimensions(student, draw, gather):
    """x may have any number of leading dimensions, and one layer may be used many times."""
    first = dense(draw, 20, 36)
    group = student.spawn(2)
    module = column(group, first, gather)

    for lead in LEADS:
        x, dy = draw.normal(*lead, 20), draw.normal(*lead, 36)
        case = Dense(x, first.weight, first.bias, dy)
        assert_column(column_train(group, module, case, gather), case, gather)


@task("column", contract=11)
def test_column_used_twice(student, draw):
    """x and 2x may go through a layer before gradients come back; those of both are added."""
    case = replace(dense(draw, 35, 36), twice=True)

    assert_column(column_step(student.spawn(2), case, gather=True), case, gather=True)


@task("column", contract=8)
def test_column_in_a_group_of_some_ranks(student, draw):
    """In a group of ranks 1 and 3 these are its ranks 0 and 1; the others take no part."""
    case = dense(draw, 35, 38)  # four ranks would not divide it
    group = student.spawn(4).subgroup(1, 3)

    for gather in (False, True):
        assert_column(column_step(group, case, gather), case, gather)


@task("column", contract=8)
def test_layers_of_different_groups(student, draw):
    """A layer keeps its own group and weight: one that is made later changes nothing."""
    first, second = dense(draw, 35, 36), dense(draw, 20, 24)
    group = student.spawn(4)
    pair = group.subgroup(1, 3)

    older, newer = column(group, first, gather=True), column(pair, second, gather=True)

    assert_column(column_train(group, older, first, gather=True), first, gather=True)
    assert_column(column_train(pair, newer, second, gather=True), second, gather=True)


@task("column", contract=12)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
@pytest.mark.parametrize("world", [2, 3])
def test_column_forward_collectives(student, draw, world, gather):
    """Forward sends nothing, or one all-gather of the output; nothing is sent to make the layer."""
    case = dense(draw, 35, 36)
    group = student.spawn(world)

    with group.collectives() as sent:
        module = column(group, case, gather)
    assert_sent(sent.per_rank, [], "the constructor")
    with group.collectives() as sent:
        module(case.x)
    forward = [("all_gather", size_of(case.dy))] if gather else []
    assert_sent(sent.per_rank, forward, "a forward")


@task("column", contract=13)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
@pytest.mark.parametrize("world", [2, 3])
def test_column_backward_collectives(student, draw, world, gather):
    """Backward sends one all-reduce, of the gradient of x."""
    case = dense(draw, 35, 36)
    group = student.spawn(world)
    module = column(group, case, gather)

    sent = sent_backward(group, module, case.x, lambda: column_train(group, module, case, gather))

    assert_sent(sent, [("all_reduce", size_of(case.x))], "a backward")


@task("column", contract=13)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_column_sends_no_needless_gradient(student, draw, gather):
    """If x needs no gradient, backward sends nothing."""
    case = dense(draw, 35, 36)
    group = student.spawn(2)
    module = column(group, case, gather)

    sent = sent_backward(
        group, module, case.x, lambda: column_train(group, module, case, gather, needs=False)
    )

    assert_sent(sent, [], "a backward without a gradient of x")


@task("column", contract=7)
@pytest.mark.parametrize("gather", [False, True], ids=["split", "gathered"])
def test_column_input_without_gradient(student, draw, gather):
    """If x needs no gradient, those of weight and bias are right nevertheless."""
    case = dense(draw, 35, 36)

    steps = column_step(student.spawn(2), case, gather, needs=False)

    assert_column(steps, case, gather, needs=False)


@task("column", contract=14)
def test_column_holds_its_part_only(student, draw):
    """A rank keeps its part of the weight and of the bias; a view would keep all of it alive."""
    case = dense(draw, 17, 2400, lead=(5,))
    group = student.spawn(4)
    part = size_of(case.weight) // 4 + size_of(case.bias) // 4

    before = group.held_bytes()
    module = column(group, case)
    assert_holds(group, before, part, "after the constructor")
    steps = column_train(group, module, case)
    limit = 2 * part + size_of(case.x, case.dy)
    assert_holds(group, before, limit, "after a step, with gradients")
    assert_column(steps, case)


@task("column", contract=14)
def test_column_parameters(student, draw):
    """weight and bias are parameters: exactly the rank's rows of the full ones."""
    case = dense(draw, 35, 36)
    group = student.spawn(3)

    module = column(group, case)

    parts = [oracle.part(36, rank, 3) for rank in range(3)]
    assert_shards(module.weight, [case.weight[own] for own in parts], "weight")
    assert_shards(module.bias, [case.bias[own] for own in parts], "bias")


@task("column", contract=15)
@pytest.mark.parametrize(("outer", "world"), [(35, 2), (37, 3), (38, 4), (3, 4)])
def test_column_that_cannot_be_divided(student, draw, outer, world):
    """Output features that the ranks do not divide are a ValueError on every rank."""
    case = dense(draw, 12, outer, bias=world % 2 == 0)
    group = student.spawn(world)

    with group.raises(ValueError):
        column(group, case)


@task("column", contract=10)
@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT64], ids=str)
def test_column_dtypes(student, draw, dtype):
    """Outputs, parameters and gradients have the dtype of what came in."""
    case = dense(draw, 35, 36, dtype=dtype)

    assert_column(column_step(student.spawn(2), case, gather=True), case, gather=True)


@task("column", contract=16)
def test_column_of_views(student, draw):
    """The weight, bias, x and the gradient that arrives may have any strides."""
    case = dense(draw, 35, 36)
    weight, x = case.weight.t().contiguous().t(), draw.normal(5, 3, 41).transpose(0, 1)[..., 2:37]
    views = Dense(x, weight, draw.normal(36, 2)[:, 1], draw.normal(36, 3, 5).permute(1, 2, 0))

    assert_column(column_step(student.spawn(2), views, gather=True), views, gather=True)


@task("column", contract=16)
@ANY_LAYOUT
def test_column_in_any_layout(student, draw, layout):
    """However weight, bias, x and the gradient that arrives lie, all gradients are summed."""
    group = student.spawn(2)
    for lead in ROWS:
        case = dense_laid(Whole(draw), layout, 15, 12, lead)
        for gather in (False, True):
            assert_column(column_step(group, case, gather), case, gather)


@task("column", contract=10)
@pytest.mark.parametrize("world", [2, 3])
def test_column_of_few_rows_and_features(student, draw, world):
    """No, one or two rows, of one feature or two, to one feature or two of each rank."""
    group, draw = student.spawn(world), Whole(draw)
    for inner in (1, 2):
        first = dense(draw, inner, inner * world)
        modules = [(gather, column(group, first, gather)) for gather in (False, True)]
        for lead in FEW_ROWS:
            x, dy = draw.normal(*lead, inner), draw.normal(*lead, inner * world)
            case = Dense(x, first.weight, first.bias, dy)
            for gather, module in modules:
                assert_column(column_train(group, module, case, gather), case, gather)


@task("column", contract=17)
def test_column_sends_no_inputs(student, draw):
    """Each rank computes with the x that it was given; x is neither averaged nor sent round."""
    case = dense(draw, 35, 36)
    group = student.spawn(2)
    inputs = [draw.normal(3, 5, 35) for _ in range(2)]

    got = each(column(group, case)(PerRank(inputs)))

    for rank, (out, x) in enumerate(zip(got, inputs, strict=True)):
        want = cut(oracle.linear(x, case.weight, case.bias), rank, 2)
        assert_out(Step(rank, out, None, {}), want, x, 35)


@task("column", contract=17)
def test_column_sums_what_differs(student, draw):
    """Where the ranks' inputs differ, x's gradient is still the sum of all ranks' gradients."""
    case = dense(draw, 35, 36)
    group = student.spawn(2)
    inputs = [draw.normal(3, 5, 35) for _ in range(2)]

    module = column(group, case)
    steps = train(group, module, PerRank(inputs), cuts(case.dy, 2), case.names)

    for step, x in zip(steps, inputs, strict=True):
        dx, dweight, _ = oracle.linear_gradients(x, case.weight, case.dy)
        own = oracle.part(36, step.rank, 2)
        assert_gradient(step, step.dx, "x", dx, x)
        assert_gradient(step, step.grads["weight"], "weight", dweight[own], case.weight)


@task("column", contract=16)
def test_column_leaves_its_arguments_alone(student, draw):
    """Neither the full weight, nor bias, nor x, nor the gradient that arrives is modified."""
    case = dense(draw, 35, 36)
    group = student.spawn(2)
    weights, biases, inputs, upstream = (
        PerRank(student.watch(tensor) for _ in range(2))
        for tensor in (case.weight, case.bias, case.x, case.dy)
    )

    module = build(group, "ColumnParallelLinear", weights, biases, gather_output=True)
    group.backward(module, (inputs,), upstream)

    for watched in (*weights, *biases, *inputs):
        assert_unmodified(watched)
    for watched in upstream:
        assert_unmodified(watched, "the gradient that arrives")


# --- row -------------------------------------------------------------------------------------


def row(group: Group, case: Dense) -> GroupProxy:
    return build(group, "RowParallelLinear", case.weight, case.bias)


def row_train(group: Group, module: GroupProxy, case: Dense, needs: bool = True) -> list[Step]:
    """Go through a row-parallel layer; each rank's x is its part, a view of the whole."""
    parts = cuts(case.x, group.size)
    # One bias is enough: who adds it on rank 0 alone may keep it there alone.
    return train(group, module, parts, case.dy, case.names, needs, case.twice, absent=["bias"])


def assert_row(steps: list[Step], case: Dense, needs: bool = True) -> None:
    """Compare with the dense layer: the whole output on every rank, and the rank's gradients."""
    outer, inner = case.weight.shape
    dx, dweight, dbias = case.gradients
    for step in steps:
        own = oracle.part(inner, step.rank, len(steps))
        assert_out(step, case.y, case.x, inner)
        if needs:
            assert_gradient(step, step.dx, "x", dx[..., own], case.x, outer)
        assert_gradient(step, step.grads["weight"], "weight", dweight[:, own], case.weight)
        if "bias" in step.grads:
            assert_gradient(step, step.grads["bias"], "bias", dbias, case.bias)


@task("row", contract=18, gate=True)
def test_row_outputs(student, draw):
    """Every rank has the dense layer's output: the sum of all ranks' products, and bias once."""
    case = dense(draw, 36, 35)
    group = student.spawn(2)

    got = each(row(group, case)(cuts(case.x, 2)))

    for rank, out in enumerate(got):
        assert_out(Step(rank, out, None, {}), case.y, case.x, 36)


@task("row", contract=19, gate=True)
def test_row_gradients_of_two_ranks(student, draw):
    """Gradients are the dense layer's, for the rank's part of x and weight, and the whole bias."""
    case = dense(draw, 36, 35)
    group = student.spawn(2)

    assert_row(row_train(group, row(group, case), case), case)


@task("row", contract=18)
@pytest.mark.parametrize("world", WORLDS)
def test_row_that_has_no_bias(student, draw, world):
    """bias may be None: values and gradients are those of a dense layer without one."""
    case = dense(draw, 60, 35, bias=False)
    group = student.spawn(world)

    assert_row(row_train(group, row(group, case), case), case)


@task("row", contract=20)
@pytest.mark.parametrize("world", WORLDS)
def test_row_equals_the_dense_layer(student, draw, world):
    """Values and gradients are the dense layer's in any world."""
    case = dense(draw, 60, 35)
    group = student.spawn(world)

    assert_row(row_train(group, row(group, case), case), case)


@task("row", contract=21)
def test_row_leading_dimensions(student, draw):
    """x may have any number of leading dimensions, and one layer may be used many times."""
    first = dense(draw, 36, 20)
    group = student.spawn(2)
    module = row(group, first)

    for lead in LEADS:
        case = Dense(draw.normal(*lead, 36), first.weight, first.bias, draw.normal(*lead, 20))
        assert_row(row_train(group, module, case), case)


@task("row", contract=22)
def test_row_used_twice(student, draw):
    """x and 2x may go through a layer before gradients come back; those of both are added."""
    case = replace(dense(draw, 36, 35), twice=True)
    group = student.spawn(2)

    assert_row(row_train(group, row(group, case), case), case)


@task("row", contract=20)
def test_row_in_a_group_of_some_ranks(student, draw):
    """In a group of ranks 1 and 3 these are its ranks 0 and 1; another layer may have all four."""
    case, wide = dense(draw, 38, 35), dense(draw, 36, 35)
    group = student.spawn(4)
    pair = group.subgroup(1, 3)

    older, newer = row(group, wide), row(pair, case)

    assert_row(row_train(pair, newer, case), case)
    assert_row(row_train(group, older, wide), wide)


@task("row", contract=23)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("world", [2, 3])
def test_row_forward_collectives(student, draw, world, bias):
    """Forward sends one all-reduce of the output; nothing is sent to make the layer."""
    case = dense(draw, 36, 35, bias=bias)
    group = student.spawn(world)

    with group.collectives() as sent:
        module = row(group, case)
    assert_sent(sent.per_rank, [], "the constructor")
    with group.collectives() as sent:
        module(cuts(case.x, world))
    assert_sent(sent.per_rank, [("all_reduce", size_of(case.dy))], "a forward")


@task("row", contract=23)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("world", [2, 3])
def test_row_backward_collectives(student, draw, world, bias):
    """Backward sends nothing."""
    case = dense(draw, 36, 35, bias=bias)
    group = student.spawn(world)
    module = row(group, case)

    sent = sent_backward(group, module, cuts(case.x, world), lambda: row_train(group, module, case))

    assert_sent(sent, [], "a backward")


@task("row", contract=19)
def test_row_input_without_gradient(student, draw):
    """If x needs no gradient, the parameters' gradients are right nevertheless."""
    case = dense(draw, 36, 35)
    group = student.spawn(2)

    assert_row(row_train(group, row(group, case), case, needs=False), case, needs=False)


@task("row", contract=24)
def test_row_holds_its_part_only(student, draw):
    """A rank keeps copies of its part and of bias; a view would keep what lies around it alive."""
    case = dense(draw, 240, 129)
    case = replace(case, bias=draw.normal(129, 9)[:, 4])
    group = student.spawn(4)
    part = size_of(case.weight) // 4 + size_of(case.bias)

    before = group.held_bytes()
    module = row(group, case)
    assert_holds(group, before, part, "after the constructor")
    steps = row_train(group, module, case)
    limit = 2 * part + size_of(case.x, case.dy)
    assert_holds(group, before, limit, "after a step, with gradients")
    assert_row(steps, case)


@task("row", contract=24)
def test_row_parameters(student, draw):
    """weight and bias are parameters: the rank's columns of the weight, and all of the bias."""
    case = dense(draw, 36, 35)
    group = student.spawn(3)

    module = row(group, case)

    assert_shards(module.weight, cuts(case.weight, 3), "weight")
    first, *others = each(module.bias)
    assert_equal(first, case.bias, "bias of rank 0")
    for rank, bias in enumerate(others, 1):
        if bias is not None:  # it may be held once
            assert_equal(bias, case.bias, f"bias of rank {rank}")


@task("row", contract=25)
@pytest.mark.parametrize(("inner", "world"), [(35, 2), (37, 3), (38, 4), (3, 4)])
def test_row_that_cannot_be_divided(student, draw, inner, world):
    """Input features that the ranks do not divide are a ValueError on every rank."""
    case = dense(draw, inner, 12)
    group = student.spawn(world)

    with group.raises(ValueError):
        row(group, case)


@task("row", contract=21)
@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT64], ids=str)
def test_row_dtypes(student, draw, dtype):
    """Outputs, parameters and gradients have the dtype of what came in."""
    case = dense(draw, 36, 35, dtype=dtype)
    group = student.spawn(2)

    assert_row(row_train(group, row(group, case), case), case)


@task("row", contract=26)
def test_row_of_views(student, draw):
    """The weight, bias, x and the gradient that arrives may have any strides."""
    case = dense(draw, 36, 35)
    weight, x = case.weight.t().contiguous().t(), draw.normal(5, 3, 41).transpose(0, 1)[..., 2:38]
    views = Dense(x, weight, draw.normal(35, 2)[:, 1], draw.normal(35, 3, 5).permute(1, 2, 0))
    group = student.spawn(2)

    assert_row(row_train(group, row(group, views), views), views)


@task("row", contract=26)
@ANY_LAYOUT
def test_row_in_any_layout(student, draw, layout):
    """However weight, bias, x and the gradient that arrives lie, the output is the sum."""
    group = student.spawn(2)
    for lead in ROWS:
        case = dense_laid(Whole(draw), layout, 12, 15, lead)
        assert_row(row_train(group, row(group, case), case), case)


@task("row", contract=21)
@pytest.mark.parametrize("world", [2, 3])
def test_row_of_few_rows_and_features(student, draw, world):
    """No, one or two rows, of one feature or two on each rank, to one or two in all."""
    group, draw = student.spawn(world), Whole(draw)
    for outer in (1, 2):
        first = dense(draw, (3 - outer) * world, outer)
        module = row(group, first)
        for lead in FEW_ROWS:
            x, dy = draw.normal(*lead, (3 - outer) * world), draw.normal(*lead, outer)
            case = Dense(x, first.weight, first.bias, dy)
            assert_row(row_train(group, module, case), case)


@task("row", contract=26)
def test_row_leaves_its_arguments_alone(student, draw):
    """Neither the full weight, nor bias, nor x, nor the gradient that arrives is modified."""
    case = dense(draw, 36, 35)
    group = student.spawn(2)
    weights, biases, upstream = (
        PerRank(student.watch(tensor) for _ in range(2))
        for tensor in (case.weight, case.bias, case.dy)
    )
    inputs = PerRank(student.watch(part) for part in cuts(case.x, 2))

    group.backward(build(group, "RowParallelLinear", weights, biases), (inputs,), upstream)

    for watched in (*weights, *biases, *inputs):
        assert_unmodified(watched)
    for watched in upstream:
        assert_unmodified(watched, "the gradient that arrives")


# --- qkv -------------------------------------------------------------------------------------

HEAD_DIM = 5
QKV_NAMES = ("wq", "wk", "wv")


@dataclass(frozen=True, slots=True)
class Heads:
    """Three projections, whole, and the gradient that arrives at each rank's outputs.

    With ``twice``, x goes through them and then 2x, before gradients come back.
    """

    world: int
    num_heads: int
    num_kv_heads: int
    x: Tensor
    weights: tuple[Tensor, Tensor, Tensor]
    upstream: tuple[tuple[Tensor, Tensor, Tensor], ...]  # of each rank
    twice: bool = False

    def rows(self, rank: int) -> list[list[int]]:
        """Return the rows of wq, wk and wv that a rank holds."""
        own = list(range(self.num_heads)[oracle.part(self.num_heads, rank, self.world)])
        shared = oracle.kv_heads(rank, self.world, self.num_heads, self.num_kv_heads)
        return [oracle.head_rows(heads, HEAD_DIM) for heads in (own, shared, shared)]

    def gradients(self) -> tuple[Tensor, list[Tensor]]:
        """Return those of x and of the whole weights: a head's upstream is the sum over holders."""
        total = torch.zeros_like(self.x, dtype=FLOAT64)
        dweights: list[Tensor] = []
        for index, weight in enumerate(self.weights):
            dy = torch.zeros(*self.x.shape[:-1], weight.shape[0], dtype=FLOAT64)
            for rank, parts in enumerate(self.upstream):
                dy[..., self.rows(rank)[index]] += parts[index].double()
            dx, dweight, _ = oracle.linear_gradients(self.x, weight, dy)
            total += dx
            dweights.append(dweight)
        times = 3 if self.twice else 1
        return times * total, [times * dweight for dweight in dweights]


def heads(
    draw: Any,
    world: int,
    num_heads: int,
    num_kv_heads: int,
    lead: Sequence[int] = (3, 4),
    dtype: torch.dtype = torch.float32,
    width: int = 14,
) -> Heads:
    counts = (num_heads, num_kv_heads, num_kv_heads)
    weights = tuple(draw.normal(n * HEAD_DIM, width, dtype=dtype, scale=0.3) for n in counts)
    shares = (num_heads // world, max(num_kv_heads // world, 1), max(num_kv_heads // world, 1))
    upstream = tuple(
        tuple(draw.normal(*lead, n * HEAD_DIM, dtype=dtype) for n in shares) for _ in range(world)
    )
    x = draw.normal(*lead, width, dtype=dtype)
    return Heads(world, num_heads, num_kv_heads, x, weights, upstream)


def qkv(group: Group, case: Heads) -> GroupProxy:
    return build(group, "QKVParallelLinear", *case.weights, case.num_heads, case.num_kv_heads)


def qkv_train(group: Group, module: GroupProxy, case: Heads, needs: bool = True) -> list[Step]:
    upstream = PerRank(case.upstream)
    return train(group, module, case.x, upstream, QKV_NAMES, needs, case.twice)


def assert_qkv_out(out: Any, case: Heads, rank: int) -> None:
    expect(out, tuple[Tensor, Tensor, Tensor], f"the output on rank {rank}")
    for got, name, weight, rows in zip(out, "qkv", case.weights, case.rows(rank), strict=True):
        want = oracle.linear(case.x, weight[rows], None)
        what = f"{name} on rank {rank}"
        loosened(got, want, case.x, case.x.shape[-1], what, "matmul")


def assert_qkv(steps: list[Step], case: Heads, needs: bool = True) -> None:
    dx, dweights = case.gradients()
    terms = sum(weight.shape[0] for weight in case.weights)
    for step in steps:
        assert_qkv_out(step.out, case, step.rank)
        if needs:
            assert_gradient(step, step.dx, "x", dx, case.x, terms)
        for name, dweight, rows in zip(QKV_NAMES, dweights, case.rows(step.rank), strict=True):
            assert_gradient(step, step.grads[name], name, dweight[rows], case.weights[0])


@task("qkv", contract=27, gate=True)
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(6, 2), (4, 4)])
def test_qkv_outputs(student, draw, num_heads, num_kv_heads):
    """A rank has the query heads that are its own, and the key/value heads that these read."""
    case = heads(draw, 2, num_heads, num_kv_heads)

    got = each(qkv(student.spawn(2), case)(case.x))

    for rank, out in enumerate(got):
        assert_qkv_out(out, case, rank)


GROUPED = [(1, 3, 1), (1, 6, 3), (2, 6, 2), (2, 8, 4), (2, 6, 6), (3, 6, 3), (3, 12, 6), (4, 12, 4)]
FEW_HEADS = [(2, 2, 2), (2, 2, 1), (2, 4, 1), (4, 4, 4)]  # one or two of each rank
REPLICATED = [(2, 6, 1), (3, 6, 1), (4, 4, 1), (4, 4, 2), (4, 12, 2)]


def cases(sizes: Sequence[tuple[int, int, int]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("world", "num_heads", "num_kv_heads"),
        [pytest.param(*size, id="W{}-H{}-G{}".format(*size)) for size in sizes],
    )


@task("qkv", contract=28)
@cases(GROUPED)
def test_qkv_equals_the_dense_layer(student, draw, world, num_heads, num_kv_heads):
    """Values and gradients are the dense projections' in any world."""
    case = heads(draw, world, num_heads, num_kv_heads)
    group = student.spawn(world)

    assert_qkv(qkv_train(group, qkv(group, case), case), case)


@task("qkv", contract=29)
@cases(REPLICATED)
def test_qkv_shared_heads(student, draw, world, num_heads, num_kv_heads):
    """The gradient of a head that several ranks hold has the shares of all of them."""
    case = heads(draw, world, num_heads, num_kv_heads)
    group = student.spawn(world)

    assert_qkv(qkv_train(group, qkv(group, case), case), case)


@task("qkv", contract=30)
@cases(FEW_HEADS)
def test_qkv_of_few_rows_and_heads(student, draw, world, num_heads, num_kv_heads):
    """No, one or two rows, and one or two heads of each rank."""
    group, draw = student.spawn(world), Whole(draw)
    first = heads(draw, world, num_heads, num_kv_heads)
    module = qkv(group, first)
    for lead in FEW_ROWS:
        other = heads(draw, world, num_heads, num_kv_heads, lead)
        case = replace(first, x=other.x, upstream=other.upstream)
        assert_qkv(qkv_train(group, module, case), case)


@task("qkv", contract=30)
@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_qkv_leading_dimensions(student, draw, num_kv_heads):
    """x may have any number of leading dimensions, and one layer may be used many times."""
    first = heads(draw, 4, 4, num_kv_heads)
    group = student.spawn(4)
    module = qkv(group, first)

    for lead in LEADS:
        other = heads(draw, 4, 4, num_kv_heads, lead)
        case = Heads(4, 4, num_kv_heads, other.x, first.weights, other.upstream)
        assert_qkv(qkv_train(group, module, case), case)


@task("qkv", contract=31)
@pytest.mark.parametrize("num_kv_heads", [6, 1])
def test_qkv_used_twice(student, draw, num_kv_heads):
    """x and 2x may go through a layer before gradients come back; those of both are added."""
    case = replace(heads(draw, 2, 6, num_kv_heads), twice=True)
    group = student.spawn(2)

    assert_qkv(qkv_train(group, qkv(group, case), case), case)


@task("qkv", contract=32)
@pytest.mark.parametrize("num_kv_heads", [6, 1])
def test_qkv_in_a_group_of_some_ranks(student, draw, num_kv_heads):
    """In a group of ranks 1 and 3 these are its ranks 0 and 1; another layer may have all four."""
    case, wide = heads(draw, 2, 6, num_kv_heads), heads(draw, 4, 12, 2 * num_kv_heads)
    group = student.spawn(4)
    pair = group.subgroup(1, 3)

    older, newer = qkv(group, wide), qkv(pair, case)

    assert_qkv(qkv_train(pair, newer, case), case)
    assert_qkv(qkv_train(group, older, wide), wide)


@task("qkv", contract=33)
@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(6, 2), (6, 1)])
def test_qkv_sends_nothing_forward(student, draw, num_heads, num_kv_heads):
    """Neither the constructor nor a forward sends anything."""
    case = heads(draw, 2, num_heads, num_kv_heads)
    group = student.spawn(2)

    with group.collectives() as sent:
        module = qkv(group, case)
        module(case.x)

    assert_sent(sent.per_rank, [], "the constructor and a forward")


@task("qkv", contract=28)
def test_qkv_input_without_gradient(student, draw):
    """If x needs no gradient, the weights' gradients are right nevertheless."""
    case = heads(draw, 2, 6, 6)
    group = student.spawn(2)

    assert_qkv(qkv_train(group, qkv(group, case), case, needs=False), case, needs=False)


@task("qkv", contract=29)
def test_qkv_shared_heads_of_an_input_without_gradient(student, draw):
    """If x needs no gradient, the gradient of a shared head is the sum nevertheless."""
    case = heads(draw, 2, 6, 1)
    group = student.spawn(2)

    assert_qkv(qkv_train(group, qkv(group, case), case, needs=False), case, needs=False)


@task("qkv", contract=34)
@pytest.mark.parametrize("num_kv_heads", [8, 2, 1])
def test_qkv_holds_its_heads_only(student, draw, num_kv_heads):
    """A rank keeps its own heads, and of shared key/value heads the one that it reads."""
    case = heads(draw, 4, 16, num_kv_heads, width=230)
    group = student.spawn(4)
    rows = [len(rows) for rows in case.rows(0)]

    before = group.held_bytes()
    module = qkv(group, case)

    assert_holds(group, before, sum(rows) * 230 * 4, "after the constructor")
    for rank, out in enumerate(each(module(case.x))):
        assert_qkv_out(out, case, rank)


@task("qkv", contract=34)
@pytest.mark.parametrize("num_kv_heads", [4, 2])
def test_qkv_parameters(student, draw, num_kv_heads):
    """wq, wk and wv are parameters: exactly the rows of the rank's heads."""
    case = heads(draw, 4, 8, num_kv_heads)
    group = student.spawn(4)

    module = qkv(group, case)

    for index, (name, weight) in enumerate(zip(QKV_NAMES, case.weights, strict=True)):
        wanted = [weight[case.rows(rank)[index]] for rank in range(4)]
        assert_shards(getattr(module, name), wanted, name)


@task("qkv", contract=35)
@cases([(4, 6, 2), (4, 2, 1), (2, 3, 1), (3, 4, 1), (4, 2, 2)])
def test_query_heads_that_do_not_divide(student, draw, world, num_heads, num_kv_heads):
    """H that W does not divide is a ValueError that names num_heads, on every rank."""
    assert_heads_refused(student, draw, (world, num_heads, num_kv_heads), "num_heads")


@task("qkv", contract=36)
@cases([(4, 12, 6), (3, 6, 2), (2, 6, 3), (4, 12, 3), (3, 12, 4)])
def test_kv_heads_that_do_not_divide(student, draw, world, num_heads, num_kv_heads):
    """G and W of which neither divides the other: a ValueError that names num_kv_heads."""
    assert_heads_refused(student, draw, (world, num_heads, num_kv_heads), "num_kv_heads")


def assert_heads_refused(student: Any, draw: Any, sizes: tuple[int, int, int], name: str) -> None:
    world, num_heads, num_kv_heads = sizes
    counts = (num_heads, num_kv_heads, num_kv_heads)
    weights = [draw.normal(12 * count, 14) for count in counts]  # the rows alone would divide
    group = student.spawn(world)

    with group.raises(ValueError, naming=name):
        build(group, "QKVParallelLinear", *weights, num_heads, num_kv_heads)


@task("qkv", contract=30)
@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT64], ids=str)
def test_qkv_dtypes(student, draw, dtype):
    """Outputs, parameters and gradients have the dtype of what came in."""
    case = heads(draw, 4, 4, 2, dtype=dtype)
    group = student.spawn(4)

    assert_qkv(qkv_train(group, qkv(group, case), case), case)


@task("qkv", contract=37)
def test_qkv_of_views(student, draw):
    """The weights, x and the gradients that arrive may have any strides."""
    plain = heads(draw, 4, 4, 2)
    weights = tuple(weight.t().contiguous().t() for weight in plain.weights)
    x = draw.normal(4, 3, 19).transpose(0, 1)[..., 2:16]
    upstream = tuple(
        tuple(draw.normal(HEAD_DIM, 4, 3).transpose(0, 2) for _ in "qkv") for _ in range(4)
    )
    case = Heads(4, 4, 2, x, weights, upstream)
    group = student.spawn(4)

    assert_qkv(qkv_train(group, qkv(group, case), case), case)


@task("qkv", contract=37)
@ANY_LAYOUT
def test_qkv_in_any_layout(student, draw, layout):
    """However weights, x and the gradients that arrive lie, all gradients are summed."""
    group, draw = student.spawn(2), Whole(draw)
    for lead, num_kv_heads in zip(ROWS, (2, 1), strict=True):
        plain = heads(draw, 2, 4, num_kv_heads, lead)
        weights = tuple(laid(draw, layout, *weight.shape) for weight in plain.weights)
        upstream = tuple(
            tuple(laid(draw, layout, *part.shape) for part in parts) for parts in plain.upstream
        )
        case = replace(
            plain, x=laid(draw, layout, *plain.x.shape), weights=weights, upstream=upstream
        )
        assert_qkv(qkv_train(group, qkv(group, case), case), case)


@task("qkv", contract=37)
@pytest.mark.parametrize("num_kv_heads", [4, 1])
def test_qkv_leaves_its_arguments_alone(student, draw, num_kv_heads):
    """Neither the full weights, nor x, nor a gradient that arrives is modified."""
    case = heads(draw, 2, 4, num_kv_heads)
    group = student.spawn(2)
    *weights, inputs = (
        PerRank(student.watch(tensor) for _ in range(2)) for tensor in (*case.weights, case.x)
    )
    upstream = PerRank(tuple(map(student.watch, parts)) for parts in case.upstream)

    module = build(group, "QKVParallelLinear", *weights, 4, num_kv_heads)
    group.backward(module, (inputs,), upstream)

    for watched in (*[item for values in weights for item in values], *inputs):
        assert_unmodified(watched)
    for watched in (item for parts in upstream for item in parts):
        assert_unmodified(watched, "a gradient that arrives")


# --- mlp -------------------------------------------------------------------------------------

MLP_NAMES = ("w_gate", "w_up", "w_down")


@dataclass(frozen=True, slots=True)
class Swiglu:
    """A feed-forward, whole; with ``twice``, x and then 2x go through it before gradients come."""

    x: Tensor
    weights: tuple[Tensor, Tensor, Tensor]
    dy: Tensor
    twice: bool = False


def swiglu(
    draw: Any,
    width: int = 20,
    features: int = 36,
    lead: Sequence[int] = (3, 5),
    dtype: torch.dtype = torch.float32,
) -> Swiglu:
    shapes = [(features, width), (features, width), (width, features)]
    weights = tuple(draw.normal(*shape, dtype=dtype, scale=0.3) for shape in shapes)
    x, dy = draw.normal(*lead, width, dtype=dtype), draw.normal(*lead, width, dtype=dtype)
    return Swiglu(x, weights, dy)


def feed_forward(group: Group, case: Swiglu) -> GroupProxy:
    return build(group, "ParallelMLP", *case.weights)


def mlp_train(group: Group, module: GroupProxy, case: Swiglu, needs: bool = True) -> list[Step]:
    return train(group, module, case.x, case.dy, MLP_NAMES, needs, case.twice)


def plain_mlp(case: Swiglu) -> list[Tensor]:
    """Return the output and all gradients as torch computes them for the dense layer."""
    x, *weights = (tensor.clone().requires_grad_() for tensor in (case.x, *case.weights))
    w_gate, w_up, w_down = weights
    outs = [
        linear(silu(linear(entry, w_gate)) * linear(entry, w_up), w_down)
        for entry in ([x, 2 * x] if case.twice else [x])
    ]
    return [outs[0], *torch.autograd.grad(outs, [x, *weights], [case.dy] * len(outs))]


def mlp_shard(tensor: Tensor, name: str, rank: int, world: int) -> Tensor:
    if name == "w_down":
        return cut(tensor, rank, world)
    return tensor[oracle.part(tensor.shape[0], rank, world)]


def assert_mlp(steps: list[Step], case: Swiglu, needs: bool = True) -> None:
    """Compare with the dense layer; what rounding alone does there is allowed three times."""
    out, *gradients = oracle.mlp(case.x, *case.weights), *mlp_wanted(case)
    plain_out, *plain = plain_mlp(case)
    features = case.weights[0].shape[0]
    for step in steps:
        what = f"the output on rank {step.rank}"
        options = {"like": case.x, "inner": features}
        assert_close(step.out, out, "matmul", trusted=plain_out, what=what, **options)
        names = ["x", *MLP_NAMES] if needs else MLP_NAMES
        for name, want, trusted in zip(names[::-1], gradients[::-1], plain[::-1], strict=False):
            got = step.dx if name == "x" else step.grads[name]
            if name != "x":
                want, trusted = (
                    mlp_shard(tensor, name, step.rank, len(steps)) for tensor in (want, trusted)
                )
            what = f"the gradient of {name} on rank {step.rank}"
            assert_close(got, want, "backward", trusted=trusted, what=what, **options)


def mlp_wanted(case: Swiglu) -> tuple[Tensor, ...]:
    first = oracle.mlp_gradients(case.x, *case.weights, case.dy)
    if not case.twice:
        return first
    dx, *dweights = oracle.mlp_gradients(2 * case.x, *case.weights, case.dy)
    return tuple(one + other for one, other in zip(first, (2 * dx, *dweights), strict=True))


@task("mlp", contract=38, gate=True)
def test_mlp_outputs(student, draw):
    """Every rank has the dense layer's output: (silu(gate) * up) through w_down, summed."""
    case = swiglu(draw)

    got = each(feed_forward(student.spawn(2), case)(case.x))

    want, (plain, *_) = oracle.mlp(case.x, *case.weights), plain_mlp(case)
    for rank, out in enumerate(got):
        what = f"the output on rank {rank}"
        assert_close(out, want, "matmul", like=case.x, inner=36, trusted=plain, what=what)


@task("mlp", contract=39, gate=True)
def test_mlp_gradients_of_two_ranks(student, draw):
    """Gradients are the dense layer's: x whole on every rank, the rank's part of weights."""
    case = swiglu(draw)
    group = student.spawn(2)

    assert_mlp(mlp_train(group, feed_forward(group, case), case), case)


@task("mlp", contract=40)
@pytest.mark.parametrize("world", WORLDS)
def test_mlp_equals_the_dense_layer(student, draw, world):
    """Values and gradients are the dense layer's in any world."""
    case = swiglu(draw, 22, 60)
    group = student.spawn(world)

    assert_mlp(mlp_train(group, feed_forward(group, case), case), case)


@task("mlp", contract=43)
@pytest.mark.parametrize("world", [2, 3])
def test_mlp_forward_collectives(student, draw, world):
    """Forward sends one all-reduce of the output; nothing is sent to make the layer."""
    case = swiglu(draw)
    group = student.spawn(world)

    with group.collectives() as sent:
        module = feed_forward(group, case)
    assert_sent(sent.per_rank, [], "the constructor")
    with group.collectives() as sent:
        module(case.x)
    assert_sent(sent.per_rank, [("all_reduce", size_of(case.x))], "a forward")


@task("mlp", contract=43)
@pytest.mark.parametrize("needs", [True, False], ids=["x needs one", "x needs none"])
@pytest.mark.parametrize("world", [2, 3])
def test_mlp_backward_collectives(student, draw, world, needs):
    """Backward sends one all-reduce, of the gradient of x; nothing if x needs no gradient."""
    case = swiglu(draw)
    group = student.spawn(world)
    module = feed_forward(group, case)

    sent = sent_backward(group, module, case.x, lambda: mlp_train(group, module, case, needs))

    assert_sent(sent, [("all_reduce", size_of(case.x))] if needs else [], "a backward")


@task("mlp", contract=41)
def test_mlp_leading_dimensions(student, draw):
    """x may have any number of leading dimensions, and one layer may be used many times."""
    first = swiglu(draw)
    group = student.spawn(2)
    module = feed_forward(group, first)

    for lead in LEADS:
        case = Swiglu(draw.normal(*lead, 20), first.weights, draw.normal(*lead, 20))
        assert_mlp(mlp_train(group, module, case), case)


@task("mlp", contract=42)
def test_mlp_used_twice(student, draw):
    """x and 2x may go through a layer before gradients come back; those of both are added."""
    case = replace(swiglu(draw), twice=True)
    group = student.spawn(2)

    assert_mlp(mlp_train(group, feed_forward(group, case), case), case)


@task("mlp", contract=40)
def test_mlp_in_a_group_of_some_ranks(student, draw):
    """In a group of ranks 1 and 3 these are its ranks 0 and 1; another layer may have all four."""
    case, wide = swiglu(draw, features=38), swiglu(draw)
    group = student.spawn(4)
    pair = group.subgroup(1, 3)

    older, newer = feed_forward(group, wide), feed_forward(pair, case)

    assert_mlp(mlp_train(pair, newer, case), case)
    assert_mlp(mlp_train(group, older, wide), wide)


@task("mlp", contract=39)
def test_mlp_input_without_gradient(student, draw):
    """If x needs no gradient, the weights' gradients are right nevertheless."""
    case = swiglu(draw)
    group = student.spawn(2)

    assert_mlp(mlp_train(group, feed_forward(group, case), case, needs=False), case, needs=False)


@task("mlp", contract=44)
def test_mlp_holds_its_part_only(student, draw):
    """A rank keeps its part of the three weights; a view would keep a whole one alive."""
    case = swiglu(draw, 129, 240)
    group = student.spawn(4)
    part = size_of(*case.weights) // 4

    before = group.held_bytes()
    module = feed_forward(group, case)
    assert_holds(group, before, part, "after the constructor")
    steps = mlp_train(group, module, case)
    limit = 2 * part + size_of(case.x, case.dy)
    assert_holds(group, before, limit, "after a step, with gradients")
    assert_mlp(steps, case)


@task("mlp", contract=44)
def test_mlp_parameters(student, draw):
    """w_gate, w_up and w_down are parameters: exactly the rank's part of the full ones."""
    case = swiglu(draw)
    group = student.spawn(3)

    module = feed_forward(group, case)

    for name, weight in zip(MLP_NAMES, case.weights, strict=True):
        wanted = [mlp_shard(weight, name, rank, 3) for rank in range(3)]
        assert_shards(getattr(module, name), wanted, name)


@task("mlp", contract=45)
@pytest.mark.parametrize(("features", "world"), [(35, 2), (37, 3), (38, 4), (3, 4)])
def test_mlp_that_cannot_be_divided(student, draw, features, world):
    """Hidden features that the ranks do not divide are a ValueError on every rank."""
    case = swiglu(draw, 12, features)
    group = student.spawn(world)

    with group.raises(ValueError):
        feed_forward(group, case)


@task("mlp", contract=41)
@pytest.mark.parametrize("dtype", [BFLOAT16, FLOAT64], ids=str)
def test_mlp_dtypes(student, draw, dtype):
    """Outputs, parameters and gradients have the dtype of what came in."""
    case = swiglu(draw, dtype=dtype)
    group = student.spawn(2)

    assert_mlp(mlp_train(group, feed_forward(group, case), case), case)


@task("mlp", contract=46)
def test_mlp_of_views(student, draw):
    """The weights, x and the gradient that arrives may have any strides."""
    plain = swiglu(draw)
    weights = tuple(weight.t().contiguous().t() for weight in plain.weights)
    case = Swiglu(
        draw.normal(5, 3, 25).transpose(0, 1)[..., 2:22],
        weights,
        draw.normal(20, 3, 5).permute(1, 2, 0),
    )
    group = student.spawn(2)

    assert_mlp(mlp_train(group, feed_forward(group, case), case), case)


@task("mlp", contract=46)
@ANY_LAYOUT
def test_mlp_in_any_layout(student, draw, layout):
    """However weights, x and the gradient that arrives lie, output and gradients are the sums."""
    group, draw = student.spawn(2), Positive(draw)
    for lead in ROWS:
        shapes = (12, 10), (12, 10), (10, 12)
        x, dy = (laid(draw, layout, *lead, 10) for _ in range(2))
        case = Swiglu(x, tuple(laid(draw, layout, *shape) for shape in shapes), dy)
        assert_mlp(mlp_train(group, feed_forward(group, case), case), case)


@task("mlp", contract=41)
@pytest.mark.parametrize("world", [2, 3])
def test_mlp_of_few_rows_and_features(student, draw, world):
    """No, one or two rows, of one feature or two, and as many hidden ones of each rank."""
    group, draw = student.spawn(world), Positive(draw)
    for width in (1, 2):
        first = swiglu(draw, width, (3 - width) * world)
        module = feed_forward(group, first)
        for lead in FEW_ROWS:
            case = Swiglu(draw.normal(*lead, width), first.weights, draw.normal(*lead, width))
            assert_mlp(mlp_train(group, module, case), case)


@task("mlp", contract=46)
def test_mlp_leaves_its_arguments_alone(student, draw):
    """Neither the full weights, nor x, nor the gradient that arrives is modified."""
    case = swiglu(draw)
    group = student.spawn(2)
    *weights, inputs, upstream = (
        PerRank(student.watch(tensor) for _ in range(2))
        for tensor in (*case.weights, case.x, case.dy)
    )

    group.backward(build(group, "ParallelMLP", *weights), (inputs,), upstream)

    for watched in (*[item for values in weights for item in values], *inputs):
        assert_unmodified(watched)
    for watched in upstream:
        assert_unmodified(watched, "the gradient that arrives")


# --- cost ------------------------------------------------------------------------------------

MOST_BYTES = 1e30  # that are compared: an int may be beyond any float
OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")


def assert_bytes(student: Any, op: str, elements: int, element_size: int, world: int) -> None:
    reply = student.communication_bytes(op, elements, element_size, world)
    got = expect(reply, int | float, f"the bytes of {op}")
    got = float(got) if abs(got) < MOST_BYTES else math.inf  # or NaN
    want = oracle.communication_bytes(op, elements, element_size, world)
    close = abs(got - want) <= 1e-9 * max(want, 1.0)
    check(close, f"the bytes of {op} are {got:.9g}, expected {want:.9g}")


@task("cost", contract=47, gate=True)
@pytest.mark.parametrize("op", OPS)
def test_bytes_of_a_ring(student, op):
    """The bytes are the share of the full tensor's that the busiest rank of a ring sends."""
    for elements, element_size, world in ((840, 4, 2), (1260, 2, 3), (2520, 8, 4)):
        assert_bytes(student, op, elements, element_size, world)


@task("cost", contract=48)
@pytest.mark.parametrize("op", OPS)
def test_bytes_in_any_world(student, draw, op):
    """The formula holds for any number of ranks, and for elements that they do not divide."""
    for world in (2, 5, 7, 8, 72, 1024):
        assert_bytes(student, op, draw.integer(1, 10**6), draw.choice((1, 2, 4, 8)), world)


@task("cost", contract=48)
@pytest.mark.parametrize("op", OPS)
def test_bytes_of_nothing_and_of_much(student, op):
    """No elements cost nothing; a tensor of many gigabytes is counted exactly."""
    assert_bytes(student, op, 0, 4, 3)
    assert_bytes(student, op, 8192 * 28672 * 80 + 1, 2, 6)


@task("cost", contract=49)
@pytest.mark.parametrize("op", OPS)
def test_one_rank_sends_nothing(student, op):
    """With one rank there is nobody to send to: 0.0."""
    assert_bytes(student, op, 1000, 4, 1)


@task("cost", contract=50)
@pytest.mark.parametrize("world", [1, 4])
@pytest.mark.parametrize("op", ["gossip", "", "reduce", "all-reduce", "gather", "broadcast_"])
def test_another_op_is_refused(student, op, world):
    """Any other op is a ValueError that names op, in any world."""
    with student.raises(ValueError, naming="op"):
        student.communication_bytes(op, 1000, 4, world)


@task("cost", contract=49)
@pytest.mark.parametrize("world", [1, 3, 4])
@pytest.mark.parametrize("op", OPS)
def test_bytes_come_as_a_float(student, op, world):
    """The result is a float, whatever the op and the world, also of no elements."""
    for elements in (0, 840):
        expect(student.communication_bytes(op, elements, 4, world), float, f"the bytes of {op}")
