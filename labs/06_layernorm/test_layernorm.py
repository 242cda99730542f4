"""Public tests of lab 06: the examples of the handout, and small cases of each of its contracts.

What should come out is worked out by hand, or by the formulas of the handout in float64.
"""

import math

import pytest
import torch
from torch import Tensor

from grader.suite import (
    assert_close,
    assert_equal,
    assert_from_kernels,
    assert_unmodified,
    expect,
    task,
)

Triple = tuple[Tensor, Tensor, Tensor]
ROOM = 2**14  # sums in float32 may be off by what any order of adding so many numbers costs
ORDERS = pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])
HALVES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
GPUS = "sm_80", "sm_90"  # an A100 and an H100
LAUNCHED = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)

# The example of the handout: mean 3 and variance 5 in the first row, all equal in the second.
X = torch.tensor([[0.0, 2.0, 4.0, 6.0], [7.0, 7.0, 7.0, 7.0]])
WEIGHT = torch.tensor([1.0, 2.0, 1.0, 2.0])
BIAS = torch.tensor([0.0, 0.0, 1.0, 1.0])
DY = torch.tensor([[1.0, 0.0, 2.0, 1.0], [3.0, 1.0, 0.0, 1.0]])


def formula(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Triple:
    """Compute y, mean and rstd in float64, as the handout writes them."""
    N = x.shape[-1]
    mean = x.double().sum(-1, keepdim=True) / N
    variance = ((x.double() - mean) ** 2).sum(-1, keepdim=True) / N
    rstd = 1 / torch.sqrt(variance + eps)
    y = (x.double() - mean) * rstd * weight.double() + bias.double()
    return y, mean.view(-1), rstd.view(-1)


def compare_forward(got: object, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> None:
    """Compare y, in x's dtype, and mean and rstd, in float32, with the formulas."""
    y, mean, rstd = expect(got, Triple)
    want, room = formula(x, weight, bias, eps), max(ROOM, x.shape[-1])
    sizes = x.double().abs().mean(-1).flatten()  # a mean near 0 is a sum of larger numbers
    assert_close(mean, want[1], "elementwise", inner=room, scale=sizes, what="mean")
    assert_close(rstd, want[2], "elementwise", inner=room, what="rstd")
    assert_close(y, want[0], "elementwise", like=x, inner=room, what="y")


def gradients(x: Tensor, weight: Tensor, bias: Tensor, dy: Tensor, eps: float) -> list[Tensor]:
    """Differentiate the formula of y in float64."""
    inputs = [value.detach().double().requires_grad_() for value in (x, weight, bias)]
    y, _, _ = formula(*inputs, eps)
    return list(torch.autograd.grad(y, inputs, dy.double()))


def call_backward(student, dy: Tensor, x: Tensor, weight: Tensor) -> object:
    """Call layer_norm_backward with the mean and rstd that belong to x and an eps of 0.1."""
    _, mean, rstd = formula(x, weight, weight, 0.1)
    return student.layer_norm_backward(dy, x, weight, mean.float(), rstd.float())


def compare_backward(got: object, dy: Tensor, x: Tensor, weight: Tensor) -> None:
    """Compare dx, in x's dtype, and dweight and dbias, in weight's, with the gradients of y."""
    found, want = expect(got, Triple), gradients(x, weight, weight, dy, 0.1)
    size = (dy.double() * weight.double()).square().mean().sqrt()  # of terms that may cancel
    for name, value, right in zip(("dx", "dweight", "dbias"), found, want, strict=True):
        like = x if name == "dx" else weight
        assert_close(value, right, "backward", like=like, inner=ROOM, scale=size, what=name)


def among_nan(x: Tensor, layout: str) -> Tensor:  # [M, N] -> a view that equals it
    """Put x into a larger tensor of NaN, and return the view that holds it."""
    M, N = x.shape
    if layout == "a slice of wider rows":
        view = torch.full((M, N + 9), math.nan, dtype=x.dtype)[:, 4:-5]
    elif layout == "every other column":
        view = torch.full((M + 2, 2 * N + 3), math.nan, dtype=x.dtype)[1:-1, 3::2]
    else:
        view = torch.full((N + 2, M + 1), math.nan, dtype=x.dtype)[1:-1, 1:].T
    return view.copy_(x)


LAYOUTS = pytest.mark.parametrize(
    "layout", ["a slice of wider rows", "every other column", "transposed"]
)


# --- Task 1: forward -------------------------------------------------------------------------


@task("forward", contract=1)
def test_example_of_the_forward(student):
    """The example of the handout: y, mean and rstd of two rows, with eps 4."""
    got = expect(student.layer_norm_forward(X, WEIGHT, BIAS, 4.0), Triple)

    y, mean, rstd = got
    want = torch.tensor([[-1.0, -2 / 3, 4 / 3, 3.0], [0.0, 0.0, 1.0, 1.0]])
    assert_close(mean, torch.tensor([3.0, 7.0]), "elementwise", what="mean")
    assert_close(rstd, torch.tensor([1 / 3, 1 / 2]), "elementwise", what="rstd")
    assert_close(y, want, "elementwise", what="y")


@task("forward", contract=1)
def test_arguments_by_name(student):
    """The arguments have the names of the stub."""
    got = student.layer_norm_forward(eps=4.0, bias=BIAS, weight=WEIGHT, x=X)

    compare_forward(got, X, WEIGHT, BIAS, 4.0)


@task("forward", contract=2)
def test_one_mean_and_one_rstd_for_each_row(student):
    """mean and rstd are float32 of shape [M], in the order of the rows, whatever dtype x has."""
    x = torch.tensor([[1.0, 3.0], [-5.0, 5.0], [8.0, 8.0]], dtype=torch.bfloat16)

    _, mean, rstd = expect(student.layer_norm_forward(x, X[0, :2], BIAS[:2], 0.25), Triple)

    assert_close(mean, torch.tensor([2.0, 0.0, 8.0]), "elementwise", what="mean")
    want = torch.tensor([1.25, 25.25, 0.25]).double() ** -0.5
    assert_close(rstd, want, "elementwise", inner=ROOM, what="rstd")


@task("forward", contract=3)
@pytest.mark.parametrize("eps", [0.0, 1e-6, 0.5, 4])
def test_eps_is_added_to_the_variance(student, eps):
    """Variance 1 and 0.0001: rstd is 1 / sqrt(1 + eps) and 1 / sqrt(0.0001 + eps)."""
    x = torch.tensor([[1.0, -1.0, 1.0, -1.0], [0.01, -0.01, 0.01, -0.01]])

    _, _, rstd = expect(student.layer_norm_forward(x, WEIGHT, BIAS, eps), Triple)

    want = torch.tensor([1.0 + eps, 0.01**2 + eps]).double() ** -0.5
    assert_close(rstd, want, "elementwise", inner=ROOM, what="rstd")


@task("forward", contract=3)
def test_row_of_zeros_gives_the_bias(student):
    """A row of zeros has no variance: eps keeps rstd finite, and y is the bias."""
    y, _, _ = expect(student.layer_norm_forward(0 * X, WEIGHT, BIAS, 1e-5), Triple)

    assert_close(y, torch.stack((BIAS, BIAS)), "elementwise", what="y")


@task("forward", contract=4)
def test_width_that_is_no_power_of_two(student):
    """The lanes of a block beyond the row count in neither the mean nor the variance."""
    x = torch.tensor([[1.0, 5.0, 3.0], [-2.0, 0.0, 2.0]])

    got = expect(student.layer_norm_forward(x, torch.ones(3), torch.zeros(3), 0.0), Triple)

    assert_close(got[1], torch.tensor([3.0, 0.0]), "elementwise", what="mean")
    assert_close(got[2], torch.tensor([0.375, 0.375]).sqrt(), "elementwise", what="rstd")


@task("forward", contract=4)
@pytest.mark.parametrize("width", [1, 7, 100, 1030])
def test_width_of_any_kind(student, draw, width):
    """N is any number from 1 on."""
    x, weight, bias = draw.normal(3, width) + 0.5, draw.normal(width), draw.normal(width)

    got = student.layer_norm_forward(x, weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


@task("forward", contract=5)
@pytest.mark.parametrize("width", [20_000, 100_003])
def test_row_longer_than_a_block(student, draw, width):
    """One row that does not fit into a block: all of it counts, and all of y is written."""
    x, weight, bias = draw.normal(1, width), draw.normal(width), draw.normal(width)

    got = student.layer_norm_forward(x + 1, weight, bias, 1e-5)

    compare_forward(got, x + 1, weight, bias, 1e-5)


@task("forward", contract=6)
@pytest.mark.parametrize("rows", [1, 5, 130])
def test_any_number_of_rows(student, draw, rows):
    """Each of M rows is normalised by itself, however many there are."""
    x = draw.normal(rows, 4) + draw.normal(rows, 1)

    got = student.layer_norm_forward(x, WEIGHT, BIAS, 0.1)

    compare_forward(got, x, WEIGHT, BIAS, 0.1)


@task("forward", contract=15)
@ORDERS
def test_forward_with_programs_in_any_order(student, draw, order):
    """In any order, or at once as on a GPU, programs write apart and stay within tensors."""
    x, weight, bias = draw.normal(60, 75), draw.normal(75), draw.normal(75)

    with student.sound_kernels(order):
        got = student.layer_norm_forward(x, weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


@task("forward", contract=15)
def test_forward_of_rows_that_lie_far_apart(student, draw):
    """The last row begins 2**31 elements behind the first: such an offset needs int64."""
    x, weight, bias = draw.normal(5, 20, dtype=torch.bfloat16), draw.normal(20), draw.normal(20)

    with student.sound_kernels():
        got = student.layer_norm_forward(student.far(x, 2**29, 1), weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


@task("forward", contract=15)
def test_forward_of_70000_rows_is_a_grid(student):
    """No axis of a grid but the first has more than 65,535 programs; none runs here."""
    with student.grids_alone():
        student.layer_norm_forward(X[:1].expand(70_000, 4), WEIGHT, BIAS, 4.0)


@task("forward", contract=6)
@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4)], ids=str)
def test_forward_of_no_rows(student, shape):
    """Without rows y is empty and has x's shape; mean and rstd are empty."""
    x = torch.empty(shape, dtype=torch.float16)

    y, mean, rstd = expect(student.layer_norm_forward(x, WEIGHT, BIAS, 1e-5), Triple)

    assert_equal(y, x, "y")
    assert_equal(mean, torch.empty(0), "mean")
    assert_equal(rstd, torch.empty(0), "rstd")


@task("forward", contract=6)
def test_nan_stays_in_its_row(student):
    """NaN in the second row: y and mean of this row are NaN, the first row is as ever."""
    x = torch.tensor([[0.0, 2.0, 4.0, 6.0], [7.0, math.nan, 7.0, 7.0]])

    y, mean, _ = expect(student.layer_norm_forward(x, WEIGHT, BIAS, 4.0), Triple)

    assert_close(mean, torch.tensor([3.0, math.nan]), "elementwise", what="mean")
    want = torch.tensor([[-1.0, -2 / 3, 4 / 3, 3.0], [math.nan] * 4])
    assert_close(y, want, "elementwise", what="y")


@task("forward", contract=7)
@pytest.mark.parametrize("shape", [(12,), (2, 3, 12), (2, 1, 2, 12)], ids=str)
def test_more_axes(student, draw, shape):
    """x may have no leading axis or several; y has x's shape, mean and rstd are flat."""
    x, weight, bias = draw.normal(*shape) + 1, draw.normal(12), draw.normal(12)

    got = student.layer_norm_forward(x, weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


@task("forward", contract=7)
def test_leading_axes_of_any_strides(student, draw):
    """Rows count in the order of x's axes, whatever their order in memory."""
    base, weight, bias = draw.normal(4, 5, 6), draw.normal(6), draw.normal(6)

    for x in (base.transpose(0, 1), base[1:, 1:4]):
        compare_forward(student.layer_norm_forward(x, weight, bias, 0.1), x, weight, bias, 0.1)


@task("forward", contract=8)
@HALVES
def test_only_y_is_rounded(student, draw, dtype):
    """Of float16 and bfloat16, mean and rstd are as exact as of float32; y has x's dtype."""
    x, weight, bias = (draw.normal(n, 300, dtype=dtype) for n in (3, 1, 1))

    got = student.layer_norm_forward(x + 2, weight[0], bias[0], 0.1)

    compare_forward(got, x + 2, weight[0], bias[0], 0.1)


@task("forward", contract=8)
def test_sums_that_float16_cannot_hold(student):
    """Neither the sum of the first row nor the squares of the second fit into float16."""
    x = torch.tensor([[30_000, 30_000, 30_000, 20_000], [300, -300, 300, -300]])

    got = student.layer_norm_forward(x.half(), WEIGHT.half(), BIAS.half(), 0.0)

    y, mean, rstd = expect(got, Triple)
    assert_close(mean, torch.tensor([27_500.0, 0.0]), "elementwise", scale=300, what="mean")
    want = torch.tensor([1 / math.sqrt(18_750_000), 1 / 300])
    assert_close(rstd, want, "elementwise", inner=ROOM, what="rstd")
    third = 1 / math.sqrt(3)
    want = torch.tensor([[third, 2 * third, 1 + third, 1 - 6 * third], [1.0, -2.0, 2.0, -1.0]])
    assert_close(y, want, "elementwise", dtype=torch.float16, what="y")


@task("forward", contract=8)
def test_sums_of_a_long_row_stay_in_float32(student, draw):
    """What is carried from block to block of a bfloat16 row is as exact as of a float32 one."""
    x, weight, bias = (draw.normal(n, 20_000, dtype=torch.bfloat16) for n in (1, 1, 1))

    got = student.layer_norm_forward(x + 1, weight[0], bias[0], 1e-5)

    compare_forward(got, x + 1, weight[0], bias[0], 1e-5)


@task("forward", contract=8)
@HALVES
def test_normalised_row_is_not_rounded(student, dtype):
    """1/3 * 300 - 99 is 1. Rounded to x's dtype before weight and bias, 1/3 would give more."""
    weight, bias = torch.tensor([1.0, 300.0, 300.0, 1.0]), torch.tensor([0.0, 101.0, -99.0, 0.0])

    y, _, _ = expect(student.layer_norm_forward(X[:1].to(dtype), weight, bias, 4.0), Triple)

    assert_close(y, torch.tensor([[-1.0, 1.0, 1.0, 1.0]]), "elementwise", dtype=dtype, what="y")


@task("forward", contract=9)
def test_mean_far_above_the_deviation(student):
    """10,000 and -10,000, plus and minus 1: the variance is 1, which E[x²] - E[x]² loses."""
    x = torch.tensor([[9999.0, 10_001.0], [-9999.0, -10_001.0]]).repeat(1, 3)

    y, _, rstd = expect(student.layer_norm_forward(x, torch.ones(6), torch.zeros(6), 0.0), Triple)

    # float32 knows 10,000 to 0.001; E[x²] = 100,000,001 it knows to 8.
    want = torch.tensor([[-1.0, 1.0], [1.0, -1.0]]).repeat(1, 3)
    assert_close(rstd, torch.ones(2), "elementwise", trusted=torch.full((2,), 1.001), what="rstd")
    assert_close(y, want, "elementwise", trusted=want * 1.001, what="y")


@task("forward", contract=9)
def test_mean_of_a_hundred_deviations(student, draw):
    """The same with mean/deviation = 100 and -100."""
    x = draw.normal(2, 50) + torch.tensor([[100.0], [-100.0]])

    _, _, rstd = expect(student.layer_norm_forward(x, torch.ones(50), x[0], 0.0), Triple)

    want = formula(x, torch.ones(50), x[0], 0.0)[2]
    assert_close(rstd, want, "elementwise", trusted=want * (1 + 1e-5), what="rstd")


@task("forward", contract=10)
@pytest.mark.parametrize(
    ("dtype", "weight_dtype", "bias_dtype"),
    [
        (torch.bfloat16, torch.float32, torch.float32),
        (torch.float32, torch.bfloat16, torch.float16),
        (torch.float16, torch.float32, torch.bfloat16),
    ],
    ids=["wide parameters", "narrow parameters", "three dtypes"],
)
def test_dtypes_of_weight_and_bias(student, draw, dtype, weight_dtype, bias_dtype):
    """weight and bias may have other dtypes than x and than each other; y has x's."""
    x, weight, bias = draw.normal(3, 20), draw.normal(20), draw.normal(20)
    x, weight, bias = x.to(dtype), weight.to(weight_dtype), bias.to(bias_dtype)

    got = student.layer_norm_forward(x, weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


@task("forward", contract=11)
@LAYOUTS
def test_strides_of_x(student, draw, layout):
    """x may be any view: the NaN between its elements does not matter."""
    x, weight, bias = draw.normal(3, 10) + 1, draw.normal(10), draw.normal(10)

    got = student.layer_norm_forward(among_nan(x, layout), weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


@task("forward", contract=11)
def test_one_row_expanded_to_many(student):
    """x may hold one row several times: rows are then 0 elements apart."""
    x = X[:1].expand(3, 4)

    compare_forward(student.layer_norm_forward(x, WEIGHT, BIAS, 4.0), x, WEIGHT, BIAS, 4.0)


@task("forward", contract=12)
def test_strides_of_weight_and_bias(student):
    """weight and bias may be a column of something wider, or one number for all columns."""
    column = torch.stack((WEIGHT, WEIGHT * math.nan), 1)[:, 0]
    number = torch.tensor([0.5]).expand(4)

    for weight, bias in ((column, number), (number, column)):
        compare_forward(student.layer_norm_forward(X, weight, bias, 4.0), X, weight, bias, 4.0)


@task("forward", contract=13)
def test_forward_leaves_its_arguments_alone(student):
    """x, weight and bias are as before."""
    watched = [student.watch(value) for value in (X, WEIGHT, BIAS)]

    student.layer_norm_forward(*watched, 4.0)

    for value, name in zip(watched, ("x", "weight", "bias"), strict=True):
        assert_unmodified(value, name)


@task("forward", contract=13)
def test_forward_results_outlive_the_next_call(student):
    """Two calls of one shape and one of another, then a look at the results of all three."""
    cases = [(x, WEIGHT, BIAS, 4.0) for x in (X, X.flip(0) + 1, X[:1])]

    results = expect(student.together("layer_norm_forward", *cases), list[Triple])

    for got, case in zip(results, cases, strict=True):
        compare_forward(got, *case)


@task("forward", contract=14)
@pytest.mark.parametrize("shape", [(3, 40), (1, 20_000)], ids=str)
def test_forward_comes_from_kernels(student, draw, shape):
    """y, mean and rstd are what your kernels wrote: while none of them runs, they are wrong."""
    # Of a mean and a deviation that memory which nobody wrote does not hold by chance.
    x = 5 * draw.normal(*shape) + 11
    weight, bias = draw.normal(shape[1]), draw.normal(shape[1])

    want = formula(x, weight, bias, 0.1)
    assert_from_kernels(
        student,
        lambda: student.layer_norm_forward(x, weight, bias, 0.1),
        want,
        *("y", "mean", "rstd"),
    )


@task("forward", contract=16)
@LAUNCHED
def test_forward_kernels_compile(student, draw, dtype):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    x, weight, bias = (draw.normal(*shape, dtype=dtype) for shape in ((6, 300), (300,), (300,)))

    with student.compilable_kernels(*GPUS):
        got = student.layer_norm_forward(x, weight, bias, 0.1)

    compare_forward(got, x, weight, bias, 0.1)


# --- Task 2: backward ------------------------------------------------------------------------


@task("backward", contract=17)
def test_example_of_the_backward(student):
    """The example of the handout: dx, dweight and dbias of two rows."""
    mean, rstd = torch.tensor([3.0, 7.0]), torch.tensor([1 / 3, 1 / 2])

    got = expect(student.layer_norm_backward(DY, X, WEIGHT, mean, rstd), Triple)

    dx, dweight, dbias = got
    want = torch.tensor([[1.5 / 27, -10 / 27, 5.5 / 27, 3 / 27], [0.625, 0.125, -0.875, 0.125]])
    assert_close(dbias, torch.tensor([4.0, 1.0, 2.0, 2.0]), "backward", what="dbias")
    assert_close(dweight, torch.tensor([-1.0, 0.0, 2 / 3, 1.0]), "backward", what="dweight")
    assert_close(dx, want, "backward", what="dx")


@task("backward", contract=18)
@pytest.mark.parametrize("width", [1, 7, 100, 1030])
def test_gradients_for_a_width_of_any_kind(student, draw, width):
    """N is any number from 1 on; the lanes of a block beyond the row do not count."""
    dy, x, weight = draw.normal(3, width), draw.normal(3, width) + 0.5, draw.normal(width)

    compare_backward(call_backward(student, dy, x, weight), dy, x, weight)


@task("backward", contract=19)
def test_gradients_of_a_row_longer_than_a_block(student, draw):
    """One row of 100,003 columns: all of it counts, and all of dx is written."""
    dy, x, weight = draw.normal(1, 100_003), draw.normal(1, 100_003), draw.normal(100_003)

    compare_backward(call_backward(student, dy, x, weight), dy, x, weight)


@task("backward", contract=20)
@pytest.mark.parametrize("rows", [1, 3, 140])
def test_parameter_gradients_sum_over_all_rows(student, draw, rows):
    """dweight and dbias are sums over every row, however many programs hold them."""
    dy, x = draw.normal(rows, 4) + 0.5, draw.normal(rows, 4) + 1

    compare_backward(call_backward(student, dy, x, WEIGHT), dy, x, WEIGHT)


@task("backward", contract=31)
@ORDERS
def test_gradients_with_programs_in_any_order(student, draw, order):
    """Shares of dweight and dbias meet in atomics, or in a launch of their own."""
    dy, x = draw.normal(100, 4) + 0.5, draw.normal(100, 4) + 1

    with student.sound_kernels(order):
        got = call_backward(student, dy, x, WEIGHT)

    compare_backward(got, dy, x, WEIGHT)


@task("backward", contract=31)
def test_gradients_of_rows_that_lie_far_apart(student, draw):
    """x and dy may be so large that the offset of a row needs int64."""
    dy, x = (draw.normal(5, 4, dtype=torch.bfloat16) + 1 for _ in range(2))
    _, mean, rstd = formula(x, WEIGHT, WEIGHT, 0.1)
    apart = [student.far(item, 2**29, 1) for item in (dy, x)]

    with student.sound_kernels():
        got = student.layer_norm_backward(*apart, WEIGHT, mean.float(), rstd.float())

    compare_backward(got, dy, x, WEIGHT)


@task("backward", contract=31)
def test_backward_of_70000_rows_is_a_grid(student):
    """No axis of a grid but the first has more than 65,535 programs; none runs here."""
    with student.grids_alone():
        call_backward(student, DY[:1].expand(70_000, 4), X[:1].expand(70_000, 4), WEIGHT)


@task("backward", contract=20)
def test_gradients_of_more_rows_than_programs(student, draw):
    """700 rows: whoever launches a program for each processor gives it several."""
    dy, x = draw.normal(700, 4) + 0.5, draw.normal(700, 4) + 1

    compare_backward(call_backward(student, dy, x, WEIGHT), dy, x, WEIGHT)


@task("backward", contract=20)
def test_backward_of_no_rows(student):
    """Without rows dx is empty, and dweight and dbias are zeros in weight's dtype."""
    x, none = torch.empty(2, 0, 4, dtype=torch.float16), torch.empty(0)

    got = student.layer_norm_backward(x.clone(), x, WEIGHT, none, none)

    dx, dweight, dbias = expect(got, Triple)
    assert_equal(dx, x, "dx")
    assert_equal(dweight, torch.zeros(4), "dweight")
    assert_equal(dbias, torch.zeros(4), "dbias")


@task("backward", contract=21)
@pytest.mark.parametrize(
    ("dtype", "middle"), [(torch.float16, 46), (torch.bfloat16, 18)], ids=["float16", "bfloat16"]
)
def test_dy_times_weight_is_not_rounded(student, dtype, middle):
    """323, 324, 323, 324 of dy * weight would all be 324 in bfloat16, and dx would be 0."""
    dy = torch.tensor([[middle - 1, middle, middle + 1, middle]]).to(dtype)
    weight = torch.tensor([middle + 1, middle, middle - 1, middle]).to(dtype)
    mean, rstd = torch.tensor([3.0]), torch.tensor([1 / 3])

    dx, _, _ = expect(student.layer_norm_backward(dy, X[:1].to(dtype), weight, mean, rstd), Triple)

    want = torch.tensor([[-1 / 9, 5 / 27, -5 / 27, 1 / 9]])
    assert_close(dx, want, "backward", dtype=dtype, what="dx")


@task("backward", contract=21)
def test_sums_of_a_long_row_gradient_stay_in_float32(student, draw):
    """What is carried from block to block of a bfloat16 row is as exact as of a float32 one."""
    dy, x, weight = (draw.normal(1, 20_000, dtype=torch.bfloat16) for _ in range(3))

    compare_backward(call_backward(student, dy, x, weight[0]), dy, x, weight[0])


@task("backward", contract=21)
def test_weight_is_not_rounded(student):
    """The same for a float32 weight: 301 would be 300 in x's dtype, and dx would be 0."""
    dy, x = torch.ones(1, 4, dtype=torch.bfloat16), X[:1].bfloat16()
    weight = torch.tensor([300.0, 301.0, 300.0, 300.0])
    mean, rstd = torch.tensor([3.0]), torch.tensor([1 / 3])

    dx, _, _ = expect(student.layer_norm_backward(dy, x, weight, mean, rstd), Triple)

    want = torch.tensor([[-1 / 9, 13 / 54, -2 / 27, -1 / 18]])
    assert_close(dx, want, "backward", dtype=torch.bfloat16, what="dx")


@task("backward", contract=21)
def test_sums_over_rows_are_float32(student):
    """256 and 64 times 1 make 320. A sum in bfloat16 stays at 256: it does not notice a 1."""
    dy = torch.ones(65, 4, dtype=torch.bfloat16)
    dy[0] = 256
    x, weight = X[:1].bfloat16().expand(65, 4).contiguous(), WEIGHT.bfloat16()
    mean, rstd = torch.full((65,), 3.0), torch.full((65,), 1 / 3)

    got = expect(student.layer_norm_backward(dy, x, weight, mean, rstd), Triple)

    want = torch.tensor([-320.0, -320 / 3, 320 / 3, 320.0])
    assert_close(got[1], want, "backward", dtype=torch.bfloat16, what="dweight")
    assert_close(got[2], torch.full((4,), 320.0), "backward", dtype=torch.bfloat16, what="dbias")


@task("backward", contract=22)
@pytest.mark.parametrize(
    ("dtype", "weight_dtype"),
    [
        (torch.bfloat16, torch.bfloat16),
        (torch.float16, torch.float32),
        (torch.float32, torch.bfloat16),
    ],
    ids=["bfloat16", "wide weight", "narrow weight"],
)
def test_dtypes_of_gradients(student, draw, dtype, weight_dtype):
    """dx has x's dtype; dweight and dbias have weight's, and are as exact as that allows."""
    dy, x = draw.normal(5, 20, dtype=dtype), draw.normal(5, 20, dtype=dtype)
    weight = draw.normal(20, dtype=weight_dtype)

    compare_backward(call_backward(student, dy, x, weight), dy, x, weight)


@task("backward", contract=23)
def test_mean_and_rstd_are_taken_as_given(student):
    """With mean 0 and rstd 1, neither of which is x's, n is x and the formula gives this."""
    dy, one = DY[:1], torch.ones(4)

    got = student.layer_norm_backward(dy, X[:1], one, torch.zeros(1), torch.ones(1))

    dx, dweight, _ = expect(got, Triple)
    assert_close(dx, torch.tensor([[0.0, -8.0, -13.0, -21.0]]), "backward", what="dx")
    assert_close(dweight, torch.tensor([0.0, 0.0, 8.0, 6.0]), "backward", what="dweight")


@task("backward", contract=23)
def test_gradients_where_the_mean_is_large(student):
    """x + 100 with mean + 100 has the gradients of x: x - mean is taken first, and is exact."""
    mean, rstd = torch.tensor([3.0, 7.0]), torch.tensor([1 / 3, 1 / 2])

    got = expect(student.layer_norm_backward(DY, X + 100, WEIGHT, mean + 100, rstd), Triple)

    want = torch.tensor([[1.5 / 27, -10 / 27, 5.5 / 27, 3 / 27], [0.625, 0.125, -0.875, 0.125]])
    assert_close(got[0], want, "backward", what="dx")
    assert_close(got[1], torch.tensor([-1.0, 0.0, 2 / 3, 1.0]), "backward", what="dweight")


@task("backward", contract=24)
@LAYOUTS
@pytest.mark.parametrize("name", ["dy", "x", "both"])
def test_strides_of_dy_and_x(student, draw, name, layout):
    """dy and x may be any views, each with strides of its own."""
    dy, x, weight = draw.normal(3, 10), draw.normal(3, 10) + 1, draw.normal(10)
    dy_view = dy if name == "x" else among_nan(dy, layout)
    x_view = x if name == "dy" else among_nan(x, layout)

    got = call_backward(student, dy_view, x_view, weight)

    compare_backward(got, dy, x, weight)


@task("backward", contract=24)
def test_strides_of_weight(student):
    """weight may be a column of something wider, or one number for all columns."""
    column = torch.stack((WEIGHT, WEIGHT * math.nan), 1)[:, 0]

    for weight in (column, torch.tensor([0.5]).expand(4)):
        compare_backward(call_backward(student, DY, X, weight), DY, X, weight)


@task("backward", contract=25)
def test_expanded_dy_and_x(student):
    """dy may be one number or one row for all, as sum() hands it down; x may be one row."""
    for dy, x in (
        (torch.tensor(2.0).expand(2, 4), X),
        (DY[:1].expand(2, 4), X),
        (DY, X[:1].expand(2, 4)),
    ):
        compare_backward(call_backward(student, dy, x, WEIGHT), dy, x, WEIGHT)


@task("backward", contract=26)
@pytest.mark.parametrize("shape", [(12,), (2, 3, 12), (2, 1, 2, 12)], ids=str)
def test_gradients_have_the_shape_of_x(student, draw, shape):
    """x and dy may have no leading axis or several; dx has x's shape."""
    dy, x, weight = draw.normal(*shape), draw.normal(*shape), draw.normal(12)

    compare_backward(call_backward(student, dy, x, weight), dy, x, weight)


@task("backward", contract=26)
def test_axes_in_another_order_in_memory(student, draw):
    """dy and x are matched by their axes, whatever the order of these in memory."""
    dy, x, weight = draw.normal(5, 4, 6), draw.normal(4, 5, 6).transpose(0, 1), draw.normal(6)

    compare_backward(call_backward(student, dy, x, weight), dy, x, weight)


@task("backward", contract=27)
def test_backward_leaves_its_arguments_alone(student):
    """No argument is changed."""
    values = (DY, X, WEIGHT, torch.tensor([3.0, 7.0]), torch.tensor([1 / 3, 1 / 2]))
    watched = [student.watch(value) for value in values]

    student.layer_norm_backward(*watched)

    for value, name in zip(watched, ("dy", "x", "weight", "mean", "rstd"), strict=True):
        assert_unmodified(value, name)


@task("backward", contract=27)
def test_gradients_outlive_the_next_call(student):
    """Two calls of one shape and one of another: no sum of one call is in that of the next."""
    mean, rstd = torch.tensor([3.0, 7.0]), torch.tensor([1 / 3, 1 / 2])
    cases = [
        (DY, X, WEIGHT, mean, rstd),
        (DY + 1, X, WEIGHT, mean, rstd),
        (DY[:1], X[:1], WEIGHT, mean[:1], rstd[:1]),
    ]

    results = expect(student.together("layer_norm_backward", *cases), list[Triple])

    wants = [4.0, 1.0, 2.0, 2.0], [6.0, 3.0, 4.0, 4.0], [1.0, 0.0, 2.0, 1.0]
    for (_, _, dbias), want in zip(results, wants, strict=True):
        assert_close(dbias, torch.tensor(want), "backward", what="dbias")


@task("backward", contract=28)
def test_backward_comes_from_kernels(student, draw):
    """dx, dweight and dbias are what kernels wrote: while none of them runs, they are wrong."""
    dy, x, weight = draw.normal(3, 40) + 1, draw.normal(3, 40), draw.normal(40)

    want = gradients(x, weight, weight, dy, 0.1)
    assert_from_kernels(
        student,
        lambda: call_backward(student, dy, x, weight),
        want,
        *("dx", "dweight", "dbias"),
    )


@task("backward", contract=29)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_layer_norm_gives_y(student, dtype):
    """layer_norm returns y alone, in x's dtype; eps is 1e-5 unless another is passed."""
    x = (0.01 * X).to(dtype).reshape(1, 2, 4)

    plain = student.layer_norm(x, WEIGHT, BIAS)
    other = student.layer_norm(x, WEIGHT, BIAS, eps=0.5)

    want = formula(x, WEIGHT, BIAS, 1e-5)[0]
    assert_close(plain, want, "elementwise", like=x, trusted=want + 1e-5, what="y")
    assert_close(other, formula(x, WEIGHT, BIAS, 0.5)[0], "elementwise", like=x, what="y")


@task("backward", contract=30)
def test_autograd_goes_through_layer_norm(student):
    """layer_norm can be differentiated: its gradients are those of layer_norm_backward."""
    x = torch.tensor([[0.0, 2.0, 4.0, 6.0]])

    got = student.gradients("layer_norm", (x, WEIGHT, BIAS), torch.ones(1, 4), eps=4.0)

    _, dweight, dbias = expect(got, Triple, "the gradients")
    assert_close(dbias, torch.ones(4), "backward", what="dbias")
    assert_close(dweight, torch.tensor([-1.0, -1 / 3, 1 / 3, 1.0]), "backward", what="dweight")


@task("backward", contract=30)
def test_two_layers_of_one_model(student):
    """Two calls of one shape go forward, then both go back: each has its own gradients."""
    layers = [(DY + X, WEIGHT, BIAS), (DY - X, BIAS + 1, WEIGHT)]

    got = student.gradients_together("layer_norm", *((layer, DY) for layer in layers))

    for found, layer in zip(expect(got, list[Triple]), layers, strict=True):
        wants = gradients(*layer, DY, 1e-5)
        for name, value, want in zip(("x", "weight", "bias"), found, wants, strict=True):
            what = f"the gradient of {name}"
            assert_close(value, want, "backward", inner=ROOM, scale=want.norm(), what=what)


@task("backward", contract=32)
@LAUNCHED
def test_backward_kernels_compile(student, draw, dtype):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    dy, x, weight = (draw.normal(*shape, dtype=dtype) for shape in ((6, 300), (6, 300), (300,)))

    with student.compilable_kernels(*GPUS):
        got = call_backward(student, dy, x, weight)

    compare_backward(got, dy, x, weight)
