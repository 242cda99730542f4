"""Hidden suite of lab 06. Sizes are small: on a CPU Triton runs one program after the other.

All rows differ in mean and scale, and all parameters and gradients are random, so that mixed-up
rows, a default affine or a gradient of ones cannot pass.
"""

import fnmatch
import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.suite import (
    Race,
    assert_close,
    assert_equal,
    assert_from_kernels,
    assert_kernels_alone_compute,
    assert_unmodified,
    check,
    expect,
    task,
)
from reference import layernorm as oracle
from reference.limits import conditions, honest

FP32, FP16, BF16 = torch.float32, torch.float16, torch.bfloat16
EPS = 1e-5
GPUS = "sm_80", "sm_90"
Triple = tuple[Tensor, Tensor, Tensor]


def rows_of(draw: Any, rows: int, width: int, dtype: torch.dtype = FP32, offset: float = 2) -> Any:
    """Draw x: each row has its own scale, and a mean of at most ``offset`` times that."""
    return oracle.rows_apart(draw.generator, rows, width, dtype, offset)


def affine(
    draw: Any, width: int, dtype: torch.dtype = FP32, bias_dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor]:
    """Draw weight and bias."""
    return draw.normal(width, dtype=dtype), draw.normal(width, dtype=bias_dtype or dtype)


def statistics(x: Tensor, eps: float = EPS) -> tuple[Tensor, Tensor]:
    """Return mean and rstd as a right forward hands them to backward."""
    none = torch.zeros(x.shape[-1])
    _, mean, rstd = oracle.layer_norm_forward(x, none, none, eps)
    return mean.float(), rstd.float()


LAYOUTS = ("slices of wider rows", "every third row", "strided columns", "columns first")


def laid_out(values: Tensor, layout: str) -> Tensor:  # [M, N] -> a view that equals it
    """Put values into a larger tensor of NaN, and return the view that holds them."""
    rows, width = values.shape
    match layout:
        case "slices of wider rows":
            view = torch.full((rows, width + 11), torch.nan, dtype=values.dtype)[:, 4 : 4 + width]
        case "every third row":
            view = torch.full((3 * rows, width), torch.nan, dtype=values.dtype)[1::3]
        case "strided columns":
            view = torch.full((rows, 2 * width + 3), torch.nan, dtype=values.dtype)[
                :, 3 : 3 + 2 * width : 2
            ]
        case _:
            view = torch.full((width + 2, rows + 1), torch.nan, dtype=values.dtype)[1:-1, 1:].t()
    return view.copy_(values)


FAR = 1 << 29  # elements from row to row: the fourth step passes 2**31
MANY = 70_001  # rows: more than axes 1 and 2 of a grid have programs


def far_rows(student: Any, values: Tensor) -> Any:  # [5, N]
    """Return rows whose offsets fit no int32."""
    return student.far(values, FAR, 1)


def far_columns(student: Any, values: Tensor) -> Any:  # [..., 5]
    """Return columns whose offsets fit no int32; rows lie between them."""
    return student.far(values, *(values.ndim - 1) * (1,), FAR)


# --- forward ---------------------------------------------------------------------------------


def normalised(student: Any, x: Any, weight: Any, bias: Any, eps: float = EPS) -> Triple:
    return expect(student.layer_norm_forward(x, weight, bias, eps), Triple)


def assert_forward(
    got: Triple, x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS, near: str = ""
) -> None:
    """Compare y, mean and rstd with the oracle; ``near`` says which case this is."""
    width = x.shape[-1]
    want = oracle.layer_norm_forward(x, weight, bias, eps)
    # What honest float32 loses is no mistake; statistics are float32 for every dtype.
    trusted = honest.layer_norms(x, weight, bias, eps)
    off = conditions.layer_norm_off(x, weight, bias, eps)
    for index, what in enumerate(("y", "mean", "rstd")):
        dtype = FP32 if index else x.dtype
        assert_close(
            got[index],
            want[index],
            "elementwise",
            dtype=dtype,
            inner=width,
            trusted=[way[index] for way in trusted] if dtype == FP32 else (),
            off=off[index],
            what=f"{what}{near}",
        )


@task("forward", contract=1, gate=True)
@pytest.mark.parametrize(("rows", "width"), [(5, 64), (3, 256)])
def test_rows_are_normalised(student, draw, rows, width):
    """Each row is normalised by its own mean and variance, then scaled and shifted by column."""
    x, (weight, bias) = rows_of(draw, rows, width), affine(draw, width)

    got = expect(student.layer_norm_forward(x, weight, bias, EPS), tuple[Tensor, ...])

    check(len(got) == 3, f"{len(got)} tensors came back, expected 3: y, mean and rstd")
    assert_y(got[0], x, weight, bias)


def assert_y(got: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float = EPS) -> None:
    """Compare y, in float32, with the oracle."""
    want = oracle.layer_norm_forward(x, weight, bias, eps)[0]
    trusted = [y for y, _, _ in honest.layer_norms(x, weight, bias, eps)]
    off, _, _ = conditions.layer_norm_off(x, weight, bias, eps)
    note = {"inner": x.shape[-1], "trusted": trusted, "off": off, "what": "y"}
    assert_close(got, want, "elementwise", like=x, **note)


@task("forward", contract=2)
def test_mean_and_rstd_are_returned(student, draw):
    """mean and rstd are float32 of shape [M], one for each row in order."""
    x, (weight, bias) = rows_of(draw, 7, 64), affine(draw, 64)

    _, mean, rstd = normalised(student, x, weight, bias)

    want = oracle.layer_norm_forward(x, weight, bias, EPS)
    off = conditions.layer_norm_off(x, weight, bias, EPS)
    assert_close(mean, want[1], "elementwise", dtype=FP32, inner=64, off=off[1], what="mean")
    assert_close(rstd, want[2], "elementwise", dtype=FP32, inner=64, off=off[2], what="rstd")


@task("forward", contract=4)
@pytest.mark.parametrize("width", [1, 2, 3, 17, 100, 129, 1000, 5003])
def test_any_width(student, draw, width):
    """N is any number from 1 on; the lanes of a block beyond the row do not count."""
    x, (weight, bias) = rows_of(draw, 6, width), affine(draw, width)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


# One more than blocks of any power of two hold, up to 8192; then blocks that are not full.
LONG_ROWS = pytest.mark.parametrize(("width", "dtype"), [(40_961, FP32), (100_003, BF16)], ids=str)
LARGE = 2.0**17  # beyond what a half holds


def heavy_ends(values: Tensor) -> Tensor:  # [M, N]
    """Let the first and the last column count as thousands do: no sum can do without them."""
    values[:, [0, -1]] *= 300
    return values


@task("forward", contract=5)
@LONG_ROWS
def test_long_rows(student, draw, device, width, dtype):
    """A row may be longer than any block: N goes to 100,003 and beyond."""
    rows = 67 if device == "cuda" else 2
    x, (weight, bias) = rows_of(draw, rows, width, dtype), affine(draw, width, dtype)
    x = heavy_ends(x) * LARGE

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=6)
@pytest.mark.parametrize("rows", [1, 2, "many"])
def test_any_number_of_rows(student, draw, device, rows):
    """M is any number of rows, and each is normalised by itself."""
    count = {"many": 4099 if device == "cuda" else 257}.get(rows, rows)
    x, (weight, bias) = rows_of(draw, count, 37), affine(draw, 37)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=8)
@pytest.mark.parametrize("dtype", [FP16, BF16], ids=["float16", "bfloat16"])
def test_low_precision(student, draw, dtype):
    """y has x's dtype; the arithmetic in between, and mean and rstd, are float32."""
    x, (weight, bias) = rows_of(draw, 9, 1537, dtype), affine(draw, 1537, dtype)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=8)
@pytest.mark.parametrize("dtype", [FP16, BF16], ids=["float16", "bfloat16"])
def test_weight_and_bias_are_applied_in_float32(student, draw, dtype):
    """Only y is rounded to x's dtype, not the normalised row before weight and bias."""
    x, weight, bias = cancelling(draw, dtype)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias, near=", where bias and weight cancel,")


def cancelling(draw: Any, dtype: torch.dtype) -> Triple:
    """Draw x, and a weight and bias in float32 that nearly cancel in each of its rows."""
    # Multiples of one row, normalised, are the same row: a bias can take nearly all of it away.
    x = draw.normal(1, 320, dtype=dtype) * torch.tensor([1.0, 4.0, 0.5], dtype=dtype)[:, None]
    none = torch.zeros(320)
    normal = oracle.layer_norm_forward(x[:1], none + 1, none, EPS)[0]
    weight = draw.normal(320) + 16
    return x, weight, (0.2 * draw.normal(320) - weight * normal[0]).float()


@task("forward", contract=8)
def test_large_numbers_in_float16(student, draw):
    """Numbers near 1e4 fit into float16, their squares do not: sums are float32."""
    x, (weight, bias) = draw.normal(5, 700, dtype=FP16, scale=9e3), affine(draw, 700, FP16)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=9)
@pytest.mark.parametrize(("rows", "width"), [(37, 700), (5, 20_011)])
def test_mean_far_above_the_deviation(student, draw, rows, width):
    """With a mean of 100 deviations the variance keeps its digits: no E[x²] - E[x]²."""
    sign = 1 - 2 * draw.integers(0, 2, rows, 1)
    x = (draw.normal(rows, width) + 100.0 * sign) * (1 + draw.integers(0, 9, rows, 1))
    weight, bias = affine(draw, width)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias, near=", where the mean is 100 deviations,")


ORDERS = pytest.mark.parametrize("order", ["", "reversed"], ids=["in order", "reversed"])


@task("forward", contract=15)
@ORDERS
@pytest.mark.parametrize(("rows", "width"), [(150, 75), (3, 5003)])
def test_forward_programs_do_not_need_each_other(student, draw, rows, width, order):
    """Nothing that a program writes is read or written by another, or lies outside of a tensor."""
    x, (weight, bias) = rows_of(draw, rows, width), affine(draw, width)

    with student.sound_kernels(order):
        got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=15)
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_rows_of_x_beyond_two_gigabytes(student, draw, columns):
    """An offset of 2**31 elements and more, to a row or to a column, is reached."""
    width = 5 if columns else 130
    x, (weight, bias) = rows_of(draw, 5, width, BF16), affine(draw, width, BF16)
    far = far_columns if columns else far_rows

    with student.sound_kernels():
        got = normalised(student, far(student, x), weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=15)
def test_long_rows_beyond_two_gigabytes(student, draw):
    """Rows that no block holds may have such offsets too."""
    x, (weight, bias) = rows_of(draw, 5, 40_961, BF16), affine(draw, 40_961, BF16)

    with student.sound_kernels():
        got = normalised(student, far_rows(student, x), weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=15)
def test_columns_of_weight_and_bias_beyond_two_gigabytes(student, draw):
    """weight and bias may be columns that lie 2**31 elements and more apart."""
    x, (weight, bias) = rows_of(draw, 3, 5), affine(draw, 5, BF16)

    with student.sound_kernels():
        got = normalised(student, x, *(far_columns(student, item) for item in (weight, bias)))

    assert_forward(got, x, weight, bias)


@task("forward", contract=15)
def test_grid_of_the_forward_for_many_rows(student, draw, device):
    """A GPU has 65,535 programs on axes 1 and 2 of a grid, and M may be more."""
    x, (weight, bias) = rows_of(draw, 1, 3).expand(MANY, 3), affine(draw, 3)

    with student.grids_alone():
        got = normalised(student, x, weight, bias)

    if device == "cuda":
        assert_forward(got, x, weight, bias)


@task("forward", contract=3)
@pytest.mark.parametrize("eps", [1e-6, 1e-3, 0.5, 1])
def test_eps_is_added_to_the_variance(student, draw, eps):
    """rstd is 1 / sqrt(variance + eps), with the eps that is passed."""
    scales = torch.tensor([1e-3, 0.03, 1.0, 0.3, 1e-2])[:, None]
    x, (weight, bias) = draw.normal(5, 48) * scales, affine(draw, 48)

    got = normalised(student, x, weight, bias, eps)

    assert_forward(got, x, weight, bias, eps)


@task("forward", contract=3)
def test_rows_of_zeros_give_the_bias(student, draw):
    """A row without any variance is 0 after normalising: eps keeps rstd finite."""
    x, (weight, bias) = rows_of(draw, 4, 24), affine(draw, 24)
    # Zeros: the mean of other equal numbers is off by one rounding, which rstd makes large.
    x[1], x[3] = 0.0, 0.0

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=10)
@pytest.mark.parametrize(
    ("dtype", "weight_dtype", "bias_dtype"),
    [(BF16, FP32, FP32), (FP32, BF16, FP16), (FP16, FP32, FP16), (BF16, BF16, FP32)],
    ids=["wide parameters", "narrow parameters", "wide weight", "wide bias"],
)
def test_parameters_of_other_dtypes(student, draw, dtype, weight_dtype, bias_dtype):
    """weight and bias may have other dtypes than x and than each other; y has x's."""
    x, (weight, bias) = rows_of(draw, 5, 90, dtype), affine(draw, 90, weight_dtype, bias_dtype)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=11)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_strides(student, draw, layout):
    """x may be any view; what lies between its elements, even NaN, does not matter."""
    x, (weight, bias) = laid_out(rows_of(draw, 5, 70), layout), affine(draw, 70)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=11)
def test_one_row_expanded_to_many(student, draw):
    """x may hold the same memory several times: its rows are then 0 elements apart."""
    x, (weight, bias) = rows_of(draw, 1, 45).expand(4, 45), affine(draw, 45)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=7)
@pytest.mark.parametrize("shape", [(33,), (2, 3, 33), (2, 1, 4, 33)], ids=str)
def test_leading_axes(student, draw, shape):
    """x has any number of leading axes, y has x's shape, and mean and rstd are flat."""
    x, (weight, bias) = rows_of(draw, 24, 33)[: torch.Size(shape[:-1]).numel()], affine(draw, 33)
    x = x.reshape(shape)

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=7)
@pytest.mark.parametrize("swapped", [True, False], ids=["swapped", "sliced"])
def test_leading_axes_of_any_strides(student, draw, swapped):
    """Rows count in the order of x's axes, whatever their order in memory."""
    base, (weight, bias) = rows_of(draw, 20, 26).reshape(4, 5, 26), affine(draw, 26)
    x = base.transpose(0, 1) if swapped else base[1:, 1:4]

    got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


@task("forward", contract=12)
@pytest.mark.parametrize("width", [26, 700])
def test_weight_and_bias_of_any_strides(student, draw, width):
    """weight and bias may be views: a column of something wider, or one number for all columns."""
    x, (weight, bias) = rows_of(draw, 5, width), affine(draw, width)
    column, number = laid_out(weight[None], "strided columns")[0], bias[:1].expand(width)

    got = normalised(student, x, column, number)
    assert_forward(got, x, weight, number)
    got = normalised(student, x, number, column)
    assert_forward(got, x, number, weight)


@task("forward", contract=6)
def test_nan_stays_in_its_row(student, draw):
    """A row with NaN in it is lost; the rows beside it are not."""
    x, (weight, bias) = rows_of(draw, 6, 50), affine(draw, 50)
    x[2, 49], x[4, 0] = torch.nan, torch.nan

    got = normalised(student, x, weight, bias)

    kept = [row for row in range(6) if row not in (2, 4)]
    offs = conditions.layer_norm_off(x[kept], weight, bias, EPS)
    wants = oracle.layer_norm_forward(x, weight, bias, EPS)
    for name, result, want, off in zip(("y", "mean", "rstd"), got, wants, offs, strict=True):
        form = f"{name} has shape {list(result.shape)}, expected {list(want.shape)}"
        check(result.shape == want.shape, form)
        note = {"inner": 50, "off": off, "what": f"{name} of a row without NaN"}
        assert_close(result[kept], want[kept], "elementwise", **note)
    # Not rstd: a floor under the variance may have taken the NaN away.
    for name, result in zip(("y", "mean"), got[:2], strict=True):
        lost = result[[2, 4]].isnan()
        held = f"of rows with NaN, {name} has {int(lost.sum())} NaN, expected {lost.numel()}"
        check(bool(lost.all()), held)


@task("forward", contract=13)
@pytest.mark.parametrize("whole", [True, False], ids=["whole tensors", "slices"])
def test_forward_leaves_its_arguments_alone(student, draw, whole):
    """x, weight and bias, and the memory beside them, are as before."""
    values = rows_of(draw, 4, 30), draw.normal(1, 30), draw.normal(1, 30)
    x, weight, bias = values if whole else (laid_out(value, LAYOUTS[0]) for value in values)
    watched = [student.watch(item) for item in (x, weight[0], bias[0])]

    normalised(student, *watched)

    for item, what in zip(watched, ("x", "weight", "bias"), strict=True):
        assert_unmodified(item, what)


@task("forward", contract=6)
@pytest.mark.parametrize("shape", [(0, 12), (3, 0, 12)], ids=str)
def test_forward_of_no_rows(student, draw, shape):
    """M = 0 gives an empty y of x's shape, and empty mean and rstd."""
    x, (weight, bias) = torch.empty(shape, dtype=BF16), affine(draw, 12, BF16)

    y, mean, rstd = normalised(student, x, weight, bias)

    assert_equal(y, x, "y")
    assert_equal(mean, torch.empty(0), "mean")
    assert_equal(rstd, torch.empty(0), "rstd")


# No, one and two rows, of one or two leading axes, or none; each has rows of one and two columns.
FEW = [(), *itertools.product((0, 1, 2)), *itertools.product((0, 1, 2), repeat=2)]


@task("forward", contract=6)
def test_few_rows_and_columns_in_every_combination(student, draw):
    """Rows and columns may be as few as they like, at once too: no axis is lost, none made up."""
    for leading, width in itertools.product(FEW, (1, 2)):
        x = rows_of(draw, math.prod(leading), width).reshape(*leading, width)
        weight, bias = affine(draw, width)

        got = normalised(student, x, weight, bias)

        assert_forward(got, x, weight, bias, near=f", for x of shape {list(x.shape)},")


@task("forward", contract=11)
def test_few_rows_and_columns_of_any_strides(student, draw):
    """An axis of one element has a stride as well, of any size, and it says nothing."""
    for rows, width, layout in itertools.product((1, 2), (1, 2), LAYOUTS):
        x, (weight, bias) = rows_of(draw, rows, width), affine(draw, width)

        got = normalised(student, laid_out(x, layout), weight, bias)

        assert_forward(got, x, weight, bias, near=f", for {rows} x {width} in {layout},")


@task("forward", contract=13)
def test_forward_again_on_other_shapes(student, draw):
    """A call leaves nothing behind that the next one, of another shape, could trip over."""
    cases = [(x, *affine(draw, x.shape[-1])) for x in (rows_of(draw, m, 55 - m) for m in (9, 2, 5))]

    got = [normalised(student, *case) for case in cases]

    for result, case in zip(got, cases, strict=True):
        assert_forward(result, *case)


@task("forward", contract=13)
def test_results_outlive_the_next_call(student, draw):
    """Each result is a tensor of its own: another call, of the same shape, leaves it as it is."""
    cases = [(rows_of(draw, 5, 40), *affine(draw, 40), EPS) for _ in range(3)]

    got = expect(student.together("layer_norm_forward", *cases), list[Triple])

    for result, case in zip(got, cases, strict=True):
        assert_forward(result, *case, near=", looked at after later calls,")


@task("forward", contract=1)
def test_forward_takes_its_arguments_by_name(student, draw):
    """The arguments have the names of the stub."""
    x, (weight, bias) = rows_of(draw, 3, 20), affine(draw, 20)

    got = expect(student.layer_norm_forward(eps=0.2, bias=bias, weight=weight, x=x), Triple)

    assert_forward(got, x, weight, bias, 0.2)


LAUNCHED = pytest.mark.parametrize(
    ("dtype", "rows", "width"), [(FP16, 9, 700), (FP32, 1, 40_011)], ids=str
)


@task("forward", contract=16)
@LAUNCHED
def test_forward_kernels_compile(student, draw, dtype, rows, width):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    x, (weight, bias) = rows_of(draw, rows, width, dtype), affine(draw, width, dtype)

    with student.compilable_kernels(*GPUS):
        got = normalised(student, x, weight, bias)

    assert_forward(got, x, weight, bias)


# --- the rules -------------------------------------------------------------------------------

# What makes tensors or moves values, but computes none.
MOVES = (
    *("empty*", "new_*", "zeros*", "ones*", "full*", "fill*", "zero*", "*_like", "arange", "set_"),
    *("view*", "_unsafe_view", "reshape*", "_reshape*", "as_strided*", "expand*", "slice*"),
    *(
        "select*",
        "narrow*",
        "squeeze*",
        "unsqueeze*",
        "permute*",
        "transpose*",
        "t",
        "t_",
        "resize*",
    ),
    *("movedim*", "flatten*", "unflatten*", "split*", "chunk*", "unbind*", "unfold*", "detach*"),
    *(
        "alias*",
        "lift*",
        "clone",
        "copy*",
        "_copy*",
        "contiguous",
        "_to_copy",
        "to",
        "cat",
        "stack",
    ),
    *("constant_pad_nd", "pad", "repeat", "index*", "is_*", "_local_scalar_dense", "item", "flip"),
)
# One row leaves no smaller piece of x to compute on.
SMALL, LONG, ONE = (6, 3000, BF16), (2, 50_001, FP32), (1, 9001, FP32)


def assert_no_arithmetic(seen: dict[str, int], least: int, *allowed: str) -> None:
    """Fail if torch computed on as many elements as ``least``."""
    free = (*MOVES, *allowed)
    names = sorted(
        name
        for name, elements in seen.items()
        if elements >= least and not any(fnmatch.fnmatchcase(name, pattern) for pattern in free)
    )
    found = ", ".join(f"{name} on {seen[name]} elements" for name in names[:5])
    check(not names, f"torch computed {found}; expected: kernels compute all of {least} or more")


def assert_launched(launches: Any, least: int = 1) -> None:
    """Fail if fewer Triton kernels were launched."""
    text = f"{launches.total} Triton kernels were launched, expected {least} or more"
    check(launches.total >= least, text)


def any_sizes(draw: Any) -> tuple[int, int]:
    """Draw rows and columns: no code can know at which it is looked at closely."""
    return draw.integer(2, 10), draw.integer(60, 1100)


def assert_forward_in_kernels(
    student: Any, draw: Any, rows: int, width: int, *names: str, dtype: torch.dtype = FP32
) -> None:
    """Fail where a result of the forward is computed elsewhere; torch may do less than a row."""

    def case() -> Triple:
        return rows_of(draw, rows, width, dtype), *affine(draw, width, dtype)

    def call(x: Any, weight: Any, bias: Any) -> Any:
        return student.layer_norm_forward(x, weight, bias, EPS)

    def want(x: Tensor, weight: Tensor, bias: Tensor) -> Triple:
        return oracle.layer_norm_forward(x, weight, bias, EPS)

    assert_kernels_alone_compute(student, call, case, want, *names, elements=width - 1)


def assert_backward_in_kernels(
    student: Any, draw: Any, rows: int, width: int, *names: str, dtype: torch.dtype = FP32
) -> None:
    """Fail where a gradient is computed elsewhere; torch may sum what kernels wrote."""
    assert_kernels_alone_compute(
        student,
        student.layer_norm_backward,
        lambda: backward_case(draw, rows, width, dtype),
        oracle.layer_norm_backward,
        *names,
        elements=rows * width - 1,
        free=("sum",),
    )


@task("forward", contract=14, gate=True)
def test_y_comes_from_a_kernel(student, draw):
    """y is what a kernel wrote: where none runs, y is not right."""
    x, (weight, bias) = rows_of(draw, 6, 700), affine(draw, 700)

    want = oracle.layer_norm_forward(x, weight, bias, EPS)
    assert_from_kernels(
        student, lambda: student.layer_norm_forward(x, weight, bias, EPS), want, "y"
    )
    assert_forward_in_kernels(student, draw, *any_sizes(draw), "y")


@task("forward", contract=14)
def test_statistics_come_from_kernels(student, draw):
    """mean and rstd are what kernels wrote: where none runs, neither is right."""
    x, (weight, bias) = rows_of(draw, 6, 700), affine(draw, 700)

    want = oracle.layer_norm_forward(x, weight, bias, EPS)
    assert_from_kernels(
        student, lambda: student.layer_norm_forward(x, weight, bias, EPS), want, "", "mean", "rstd"
    )
    assert_forward_in_kernels(student, draw, *any_sizes(draw), "", "mean", "rstd")


@task("backward", contract=28, gate=True)
def test_dx_comes_from_a_kernel(student, draw):
    """dx is what a kernel wrote: where none runs, dx is not right."""
    case = backward_case(draw, 6, 700)

    want = oracle.layer_norm_backward(*case)
    assert_from_kernels(student, lambda: student.layer_norm_backward(*case), want, "dx")
    assert_backward_in_kernels(student, draw, *any_sizes(draw), "dx")


@task("backward", contract=28)
def test_parameter_gradients_come_from_kernels(student, draw):
    """torch may sum what kernels wrote, not dy: where none runs, dweight and dbias are wrong."""
    case = backward_case(draw, 6, 700)

    want = oracle.layer_norm_backward(*case)
    assert_from_kernels(
        student, lambda: student.layer_norm_backward(*case), want, "", "dweight", "dbias"
    )
    assert_backward_in_kernels(student, draw, *any_sizes(draw), "", "dweight", "dbias")


@task("forward", contract=14)
@pytest.mark.parametrize(("rows", "width", "dtype"), [SMALL, LONG, ONE], ids=str)
def test_forward_is_done_in_kernels(student, draw, rows, width, dtype):
    """The work is done in your Triton kernels, not by torch."""
    x, (weight, bias) = rows_of(draw, rows, width, dtype), affine(draw, width, dtype)

    with student.guard(), student.operators() as operators, student.launches() as launches:
        normalised(student, x, weight, bias)

    assert_launched(launches)
    assert_no_arithmetic(operators.seen, width)
    assert_forward_in_kernels(student, draw, rows, width, "y", "mean", "rstd", dtype=dtype)


@task("backward", contract=28)
@pytest.mark.parametrize(("rows", "width", "dtype"), [SMALL, LONG], ids=str)
def test_backward_is_done_in_kernels(student, draw, rows, width, dtype):
    """The work is done in your Triton kernels; torch may sum partial dweight and dbias."""
    x, weight = rows_of(draw, rows, width, dtype), draw.normal(width, dtype=dtype)
    dy = draw.normal(rows, width, dtype=dtype)

    with student.guard(), student.operators() as operators, student.launches() as launches:
        differentiated(student, dy, x, weight, *statistics(x))

    assert_launched(launches)
    assert_no_arithmetic(operators.seen, rows * width, "sum*")
    names = "dx", "dweight", "dbias"
    assert_backward_in_kernels(student, draw, rows, width, *names, dtype=dtype)


@task("backward", contract=28)
def test_layer_norm_is_done_in_kernels(student, draw):
    """layer_norm launches your kernels, forward and on the way back."""
    x, (weight, bias) = rows_of(draw, 7, 1500), affine(draw, 1500)
    dy = draw.normal(7, 1500)

    with student.guard(), student.operators() as operators, student.launches() as launches:
        expect(student.gradients("layer_norm", (x, weight, bias), dy), tuple[Tensor, ...])

    assert_launched(launches, 2)  # forward, and on the way back
    assert_no_arithmetic(operators.seen, 7 * 1500, "sum*")
    assert_kernels_alone_compute(
        student,
        lambda *case: student.gradients("layer_norm", case[:3], case[3]),
        lambda: (rows_of(draw, 7, 1500), *affine(draw, 1500), draw.normal(7, 1500)),
        lambda *case: oracle.gradients(*case, 1e-5),
        *("the gradient of x", "the gradient of weight", "the gradient of bias"),
        elements=7 * 1500 - 1,
        free=("sum",),
    )


# --- backward --------------------------------------------------------------------------------


def differentiated(student: Any, dy: Any, x: Any, weight: Any, mean: Any, rstd: Any) -> Triple:
    return expect(student.layer_norm_backward(dy, x, weight, mean, rstd), Triple)


def assert_backward(
    got: Triple,
    dy: Tensor,
    x: Tensor,
    weight: Tensor,
    mean: Tensor,
    rstd: Tensor,
    near: str = "",
) -> None:
    """Compare dx, dweight and dbias with the oracle; ``near`` says which case this is."""
    want = oracle.layer_norm_backward(dy, x, weight, mean, rstd)
    trusted = honest.layer_norm_gradients(dy, x, weight, mean, rstd)
    off = conditions.layer_norm_gradients_off(dy, x, weight, mean, rstd)
    inner = (x.shape[-1], mean.numel(), mean.numel())
    for index, what in enumerate(("dx", "dweight", "dbias")):
        dtype = weight.dtype if index else x.dtype
        note: dict[str, Any] = {"dtype": dtype, "inner": max(inner[index], 1)}
        if dtype == FP32:
            note["trusted"] = [way[index] for way in trusted]
        told = f"{what}{near}"
        assert_close(got[index], want[index], "backward", **note, off=off[index], what=told)


def backward_case(
    draw: Any,
    rows: int,
    width: int,
    dtype: torch.dtype = FP32,
    weight_dtype: torch.dtype | None = None,
    offset: float = 2,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # dy, x, weight, mean, rstd
    """Draw the arguments of one call."""
    x = rows_of(draw, rows, width, dtype, offset)
    dy = draw.normal(rows, width, dtype=dtype, shift=0.3)
    return dy, x, draw.normal(width, dtype=weight_dtype or dtype), *statistics(x)


@task("backward", contract=17, gate=True)
@pytest.mark.parametrize(("rows", "width"), [(5, 64), (3, 256)])
def test_gradients_of_a_few_rows(student, draw, rows, width):
    """dx, dweight and dbias are the gradients of sum(y * dy)."""
    case = backward_case(draw, rows, width)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=18)
@pytest.mark.parametrize("width", [1, 2, 3, 17, 100, 129, 1000, 5003])
def test_gradients_of_any_width(student, draw, width):
    """N is any number from 1 on; the lanes of a block beyond the row do not count."""
    case = backward_case(draw, 6, width)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=19)
@LONG_ROWS
def test_gradients_of_long_rows(student, draw, device, width, dtype):
    """A row may be longer than any block: N goes to 100,003 and beyond."""
    dy, x, weight, *_ = backward_case(draw, 67 if device == "cuda" else 2, width, dtype)
    case = heavy_ends(dy) * LARGE, x * LARGE, weight * LARGE, *statistics(x * LARGE)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=20)
@pytest.mark.parametrize("rows", [1, 2, 63, "many"])
def test_parameter_gradients_sum_over_all_rows(student, draw, device, rows):
    """dweight and dbias are sums over every row, however many programs hold them."""
    # More than any GPU has processors, twice over: each program holds several rows then.
    count = {"many": 4099 if device == "cuda" else 601}.get(rows, rows)
    case = backward_case(draw, count, 37)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=20)
@pytest.mark.parametrize(("rows", "width"), [(67, 1100), (19, 5003), (66, 17_001)], ids=str)
def test_sums_over_more_rows_than_programs(student, draw, rows, width):
    """Where one program has several blocks of rows, each column sums all of them, the last too."""
    case = backward_case(draw, rows, width)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=21)
@pytest.mark.parametrize("dtype", [FP16, BF16], ids=["float16", "bfloat16"])
def test_gradients_in_low_precision(student, draw, dtype):
    """dx, dweight and dbias have the dtypes of x and weight; the sums behind them are float32."""
    case = backward_case(draw, 9, 1537, dtype)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=21)
@pytest.mark.parametrize("weight_dtype", [None, FP32], ids=["narrow weight", "wide weight"])
@pytest.mark.parametrize("dtype", [FP16, BF16], ids=["float16", "bfloat16"])
def test_gradients_are_computed_in_float32(student, draw, dtype, weight_dtype):
    """Only the results are rounded: not weight, dy * weight, the normalised row or its sums."""
    rest, x, weight, mean, rstd = backward_case(draw, 3, 320, dtype, weight_dtype)
    weight = (1 + weight.abs()).to(weight.dtype)
    # dy * weight is nearly a multiple of 1 + normal, of which dx keeps nothing.
    normal = (x.float() - mean[:, None]) * rstd[:, None]
    dy = (16 * (1 + normal + 0.01 * rest.float()) / weight.float()).to(dtype)
    case = dy, x, weight, mean, rstd

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=21)
def test_sums_over_many_rows_are_float32(student, draw, device):
    """Each row adds little to dweight and dbias: in bfloat16 that would be lost on the way."""
    rows = 4099 if device == "cuda" else 257
    _, x, *rest = backward_case(draw, rows, 21, BF16)
    # 64 + 1.2 is 65 in bfloat16: what is added there loses a sixth.
    case = (draw.normal(rows, 21, dtype=BF16, scale=0.05, shift=1.2), x, *rest)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=22)
@pytest.mark.parametrize(
    ("dtype", "weight_dtype"),
    [(BF16, FP32), (FP32, BF16), (FP16, FP32)],
    ids=["wide weight", "narrow weight", "wide weight, float16"],
)
def test_parameter_gradients_have_the_dtype_of_weight(student, draw, dtype, weight_dtype):
    """dx has x's dtype; dweight and dbias have weight's, and its precision."""
    case = backward_case(draw, 33, 45, dtype, weight_dtype)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=23)
def test_gradients_where_the_mean_is_far_above_the_deviation(student, draw):
    """With a mean of 100 deviations x - mean is taken before anything is multiplied."""
    case = backward_case(draw, 37, 700, offset=100)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=23)
@pytest.mark.parametrize(("eps", "apart"), [(1e-3, 0.0), (0.5, 0.0), (EPS, 0.1)])
def test_mean_and_rstd_are_taken_as_given(student, draw, eps, apart):
    """rstd holds the forward's eps, which backward cannot know; neither is computed again."""
    x, weight, dy = rows_of(draw, 6, 52) * 0.2, draw.normal(52), draw.normal(6, 52)
    mean, rstd = statistics(x, eps)
    case = (dy, x, weight, mean + apart * draw.normal(6), rstd)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=24)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_for_any_strides_of_x(student, draw, layout):
    """x may be any view, also where dy is not."""
    dy, x, *rest = backward_case(draw, 5, 70)
    case = (dy, laid_out(x, layout), *rest)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=24)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_for_any_strides_of_dy(student, draw, layout):
    """dy may be any view, also where x is not."""
    dy, *rest = backward_case(draw, 5, 70)
    case = (laid_out(dy, layout), *rest)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=24)
@pytest.mark.parametrize("expanded", [True, False], ids=["one number", "a column"])
def test_gradients_for_a_weight_of_any_strides(student, draw, expanded):
    """weight may be a view: a column of something wider, or one number for all columns."""
    dy, x, weight, *rest = backward_case(draw, 6, 39)
    view = weight[:1].expand(39) if expanded else laid_out(weight[None], "strided columns")[0]
    case = (dy, x, view, *rest)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=25)
def test_gradients_for_an_expanded_x(student, draw):
    """x may hold one row several times; the rows of dx differ all the same."""
    x, dy, weight = rows_of(draw, 1, 45).expand(4, 45), draw.normal(4, 45), draw.normal(45)
    case = (dy, x, weight, *statistics(x))

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=25)
@pytest.mark.parametrize("of_one", [True, False], ids=["one number", "one row"])
def test_gradients_for_an_expanded_dy(student, draw, of_one):
    """dy may be one number or one row, expanded: sum() hands such a gradient down."""
    dy, *rest = backward_case(draw, 6, 39)
    case = ((dy[:1, :1] if of_one else dy[:1]).expand(6, 39), *rest)

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=26)
@pytest.mark.parametrize("shape", [(33,), (2, 3, 33), (2, 1, 4, 33)], ids=str)
def test_gradients_with_leading_axes(student, draw, shape):
    """x and dy have any number of leading axes, and dx has x's shape."""
    dy, x, weight, *_ = backward_case(draw, torch.Size(shape[:-1]).numel(), 33)
    case = (dy.reshape(shape), x.reshape(shape), weight, *statistics(x))

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=26)
def test_leading_axes_that_differ_in_memory(student, draw):
    """dy and x are matched by their axes, whatever the order of these in memory."""
    dy, x, weight, _, _ = backward_case(draw, 20, 26)
    x, dy = x.reshape(4, 5, 26).transpose(0, 1), dy.reshape(5, 4, 26)
    case = (dy, x, weight, *statistics(x))

    got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=27)
@pytest.mark.parametrize("whole", [True, False], ids=["whole tensors", "slices"])
def test_backward_leaves_its_arguments_alone(student, draw, whole):
    """No argument, and no memory beside it, is changed."""
    dy, x, *rest = backward_case(draw, 6, 30)
    views = (dy, x) if whole else (laid_out(dy, LAYOUTS[0]), laid_out(x, LAYOUTS[0]))
    watched = [student.watch(item) for item in (*views, *rest)]

    differentiated(student, *watched)

    for item, what in zip(watched, ("dy", "x", "weight", "mean", "rstd"), strict=True):
        assert_unmodified(item, what)


@task("backward", contract=20)
@pytest.mark.parametrize("shape", [(0, 12), (3, 0, 12)], ids=str)
def test_backward_of_no_rows(student, draw, shape):
    """M = 0 gives an empty dx, and zeros for dweight and dbias in weight's dtype."""
    x, weight, none = torch.empty(shape, dtype=BF16), draw.normal(12), torch.empty(0)

    dx, dweight, dbias = differentiated(student, x.clone(), x, weight, none, none)

    assert_equal(dx, x, "dx")
    assert_equal(dweight, torch.zeros(12), "dweight")
    assert_equal(dbias, torch.zeros(12), "dbias")


@task("backward", contract=20)
def test_gradients_of_few_rows_and_columns_in_every_combination(student, draw):
    """Sums over no, one or two rows are sums, and have an axis, of one column too."""
    for leading, width in itertools.product(FEW, (1, 2)):
        dy, x, weight, mean, rstd = backward_case(draw, math.prod(leading), width)
        case = dy.reshape(*leading, width), x.reshape(*leading, width), weight, mean, rstd

        got = differentiated(student, *case)

        assert_backward(got, *case, near=f", for x of shape {list(case[1].shape)},")


@task("backward", contract=24)
def test_gradients_of_few_rows_and_columns_of_any_strides(student, draw):
    """An axis of one element has a stride as well, of any size, in dy another than in x."""
    for rows, width, layout in itertools.product((1, 2), (1, 2), LAYOUTS):
        dy, x, *rest = backward_case(draw, rows, width)

        got = differentiated(student, laid_out(dy, layout), laid_out(x, LAYOUTS[0]), *rest)

        assert_backward(got, dy, x, *rest, near=f", for {rows} x {width} of dy in {layout},")


@task("backward", contract=31)
@ORDERS
@pytest.mark.parametrize(("rows", "width"), [(150, 75), (3, 5003)])
def test_backward_programs_share_sums_by_atomics(student, draw, rows, width, order):
    """What several programs write they write by atomics, or in launches one after the other."""
    case = backward_case(draw, rows, width)

    with student.sound_kernels(order):
        got = differentiated(student, *case)

    assert_backward(got, *case)


@task("backward", contract=31)
@pytest.mark.parametrize("columns", [False, True], ids=["rows", "columns"])
def test_rows_of_gradients_beyond_two_gigabytes(student, draw, columns):
    """x and dy may have offsets of 2**31 elements and more, and weight may be such a column."""
    dy, x, weight, *rest = backward_case(draw, 5, 5 if columns else 130, BF16)
    far = far_columns if columns else far_rows
    given = far_columns(student, weight) if columns else weight

    with student.sound_kernels():
        got = differentiated(student, far(student, dy), far(student, x), given, *rest)

    assert_backward(got, dy, x, weight, *rest)


@task("backward", contract=31)
def test_long_rows_of_gradients_beyond_two_gigabytes(student, draw):
    """Rows that no block holds may have such offsets too."""
    dy, x, *rest = backward_case(draw, 5, 40_961, BF16)

    with student.sound_kernels():
        got = differentiated(student, far_rows(student, dy), far_rows(student, x), *rest)

    assert_backward(got, dy, x, *rest)


@task("backward", contract=31)
def test_grid_of_the_backward_for_many_rows(student, draw, device):
    """A GPU has 65,535 programs on axes 1 and 2 of a grid, and M may be more."""
    dy, x, weight, mean, rstd = backward_case(draw, 1, 3)
    tall = dy.expand(MANY, 3), x.expand(MANY, 3), weight, mean.repeat(MANY), rstd.repeat(MANY)

    with student.grids_alone():
        got = differentiated(student, *tall)

    if device == "cuda":
        assert_backward(got, *tall)


@task("backward", contract=27)
def test_backward_again_on_other_shapes(student, draw):
    """Each call starts from nothing: no sum of an earlier call is in dweight or dbias."""
    cases = [backward_case(draw, rows, 60 - rows % 7) for rows in (20, 20, 3, 41)]

    got = [differentiated(student, *case) for case in cases]

    for result, case in zip(got, cases, strict=True):
        assert_backward(result, *case)


@task("backward", contract=27)
def test_gradients_outlive_the_next_call(student, draw):
    """Each result is a tensor of its own: another call, of the same shape, leaves it as it is."""
    cases = [backward_case(draw, 5, 40) for _ in range(3)]

    got = expect(student.together("layer_norm_backward", *cases), list[Triple])

    for result, case in zip(got, cases, strict=True):
        assert_backward(result, *case)


@task("backward", contract=17)
def test_backward_takes_its_arguments_by_name(student, draw):
    """The arguments have the names of the stub."""
    case = backward_case(draw, 4, 20)
    names = ("dy", "x", "weight", "mean", "rstd")

    got = student.layer_norm_backward(**dict(zip(names, case, strict=True)))

    assert_backward(expect(got, Triple), *case)


# --- layer_norm ------------------------------------------------------------------------------


@task("backward", contract=29)
@pytest.mark.parametrize("options", [{}, {"eps": 0.3}], ids=["default eps", "another eps"])
def test_layer_norm_gives_y(student, draw, options):
    """layer_norm returns y alone; its eps is 1e-5 unless another is passed."""
    x, (weight, bias) = (0.05 * rows_of(draw, 12, 31)).reshape(3, 4, 31), affine(draw, 31)

    got = expect(student.layer_norm(x, weight, bias, **options), Tensor)

    assert_y(got, x, weight, bias, options.get("eps", 1e-5))


@task("backward", contract=29)
@pytest.mark.parametrize("dtype", [FP16, BF16], ids=["float16", "bfloat16"])
def test_layer_norm_gives_y_in_the_dtype_of_x(student, draw, dtype):
    """y of layer_norm has x's dtype, and nothing before y is rounded to it."""
    x, weight, bias = cancelling(draw, dtype)

    got = expect(student.layer_norm(x, weight, bias), Tensor)

    want = oracle.layer_norm_forward(x, weight, bias, 1e-5)[0]
    note = "y, where bias and weight cancel,"
    assert_close(got, want, "elementwise", like=x, inner=320, what=note)


@task("backward", contract=30)
def test_two_layers_do_not_share_what_backward_needs(student, draw):
    """Two calls of one shape go forward, then both go back, as in a model of two layers."""
    layers = [(rows_of(draw, 6, 40), *affine(draw, 40)) for _ in range(2)]
    cases = [(layer, draw.normal(6, 40)) for layer in layers]

    got = expect(student.gradients_together("layer_norm", *cases), list[Triple])

    for found, (layer, dy) in zip(got, cases, strict=True):
        assert_gradients(found, *layer, dy)


def assert_gradients(
    got: Any, x: Tensor, weight: Tensor, bias: Tensor, dy: Tensor, eps: float = 1e-5
) -> None:
    found = expect(got, tuple[Tensor, Tensor, Tensor], "the gradients of x, weight and bias")
    want = oracle.gradients(x, weight, bias, dy, eps)
    case = dy, x, weight, *statistics(x, eps)
    trusted = honest.layer_norm_gradients(*case)
    off = conditions.layer_norm_gradients_off(*case)
    of = (x, weight, bias)
    for index, what in enumerate(("x", "weight", "bias")):
        note: dict[str, Any] = {"like": of[index], "inner": x.shape[-1], "off": off[index]}
        if of[index].dtype == FP32:
            note["trusted"] = [way[index] for way in trusted]
        assert_close(found[index], want[index], "backward", **note, what=f"the gradient of {what}")


@task("backward", contract=30, gate=True)
def test_autograd_goes_through_layer_norm(student, draw):
    """Gradients flow through layer_norm to x, weight and bias."""
    x, (weight, bias), dy = rows_of(draw, 9, 64), affine(draw, 64), draw.normal(9, 64)

    got = student.gradients("layer_norm", (x, weight, bias), dy)

    assert_gradients(got, x, weight, bias, dy)


@task("backward", contract=30)
@pytest.mark.parametrize("layout", ["swapped axes", "expanded dy", "another eps"])
def test_autograd_with_views(student, draw, layout):
    """Gradients are right for views of x and dy, for leading axes and for any eps."""
    x, (weight, bias), dy = rows_of(draw, 12, 41), affine(draw, 41), draw.normal(3, 4, 41)
    x = x.reshape(4, 3, 41).transpose(0, 1) if layout == "swapped axes" else x.reshape(3, 4, 41)
    if layout == "expanded dy":
        dy = dy[:1, :1, :1].expand(3, 4, 41)
    eps = 0.4 if layout == "another eps" else 1e-5

    got = student.gradients("layer_norm", (x, weight, bias), dy, eps=eps)

    assert_gradients(got, x, weight, bias, dy, eps)


@task("backward", contract=30)
def test_autograd_with_parameters_of_another_dtype(student, draw):
    """Each gradient has the dtype of what it is the gradient of."""
    x, (weight, bias), dy = rows_of(draw, 9, 80, BF16), affine(draw, 80), draw.normal(9, 80)
    dy = dy.to(BF16)

    got = student.gradients("layer_norm", (x, weight, bias), dy)

    assert_gradients(got, x, weight, bias, dy)


@task("backward", contract=32)
@LAUNCHED
def test_backward_kernels_compile(student, draw, dtype, rows, width):
    """Each kernel compiles for an A100 (sm_80) and an H100 (sm_90), as it is launched."""
    case = backward_case(draw, rows, width, dtype)

    with student.compilable_kernels(*GPUS):
        got = differentiated(student, *case)

    assert_backward(got, *case)


# --- speed -----------------------------------------------------------------------------------

SIZES = [(32_768, 4096), (8192, 8192), (16_384, 5003)]


def parameters(generator: torch.Generator, width: int) -> tuple[Tensor, Tensor]:
    shape, device = (2, width), generator.device
    weight, bias = torch.randn(shape, generator=generator, device=device).to(BF16)
    return weight, bias


def forward_race(rows: int, width: int) -> Race:
    """Race the forward; x and y cross the bus once each."""

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        x = oracle.rows_apart(generator, rows, width, BF16)
        return x, *parameters(generator, width)

    return Race(
        function="layer_norm_forward",
        case=f"{rows} x {width}",
        inputs=inputs,
        options={"eps": EPS},
        compare="elementwise",
        bytes=2 * rows * width * BF16.itemsize,
        size=rows * width * BF16.itemsize / 1e6,
        axis="MB",
    )


def backward_race(rows: int, width: int) -> Race:
    """Race the backward; dy, x and dx cross the bus once each."""

    def inputs(generator: torch.Generator) -> tuple[Tensor, ...]:
        x = oracle.rows_apart(generator, rows, width, BF16)
        dy = torch.randn(x.shape, generator=generator, device=x.device).to(BF16)
        variance, mean = torch.var_mean(x.float(), -1, correction=0)
        weight, _ = parameters(generator, width)
        return dy, x, weight, mean, (variance + EPS).rsqrt()

    return Race(
        function="layer_norm_backward",
        case=f"{rows} x {width}",
        inputs=inputs,
        compare="backward",
        bytes=3 * rows * width * BF16.itemsize,
        size=rows * width * BF16.itemsize / 1e6,
        axis="MB",
    )


@task("speed", gate=True, needs=("forward",))
@pytest.mark.parametrize(("rows", "width"), SIZES)
def test_forward_is_right_at_speed_sizes(stopwatch, rows, width):
    """y, mean and rstd are right at the sizes that are timed."""
    stopwatch.verify(forward_race(rows, width))


@task("speed", tiers="forward", needs=("forward",))
@pytest.mark.parametrize(("rows", "width"), SIZES)
def test_forward_speed(stopwatch, tier, rows, width):
    """The forward is fast, compared with torch's layer norm in the same run."""
    stopwatch.reach(tier, forward_race(rows, width))


@task("speed", needs=("backward",))
@pytest.mark.parametrize(("rows", "width"), SIZES)
def test_backward_is_right_at_speed_sizes(stopwatch, rows, width):
    """dx, dweight and dbias are right at the sizes that are timed."""
    stopwatch.verify(backward_race(rows, width))


@task("speed", tiers="backward", needs=("backward",))
@pytest.mark.parametrize(("rows", "width"), SIZES)
def test_backward_speed(stopwatch, tier, rows, width):
    """The backward is fast, compared with torch's in the same run."""
    stopwatch.reach(tier, backward_race(rows, width))
