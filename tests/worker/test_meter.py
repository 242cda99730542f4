"""What launches move and compute, held against closed forms, in workers as a grading has them."""

import importlib
import time
from collections.abc import Iterator

import pytest
import torch
from stand_ins.kernel_worker import fresh_student

from grader.errors import StudentError
from grader.labs.metered import Metered, Traffic
from grader.proxy.student import Student
from grader.worker.metering.meter import Meter

SOURCE = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def _add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add(x, y):
    out = torch.empty_like(x)
    _add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out


@triton.jit
def _softmax(x, out, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * width + tl.arange(0, BLOCK)
    inside = tl.arange(0, BLOCK) < width
    row = tl.load(x + at, mask=inside, other=float("-inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(out + at, powers / tl.sum(powers, 0), mask=inside)


def softmax(x):
    out = torch.empty_like(x)
    _softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


@triton.jit
def _norm_twice(x, out, width, BLOCK: tl.constexpr):
    x += tl.program_id(0) * width
    out += tl.program_id(0) * width
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < width, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / width
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        row = tl.load(x + at, mask=at < width, other=0.0).to(tl.float32)
        tl.store(out + at, row - mean, mask=at < width)


@triton.jit
def _norm_once(x, out, width, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x += tl.program_id(0) * width
    out += tl.program_id(0) * width
    row = tl.load(x + at, mask=at < width, other=0.0).to(tl.float32)
    tl.store(out + at, row - tl.sum(row, 0) / width, mask=at < width)


def norm(x, twice):
    out = torch.empty_like(x)
    kernel, block = (_norm_twice, 32) if twice else (_norm_once, 128)
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=block)
    return out


@triton.jit
def _matmul(a, b, out, M, N, K, BLOCK: tl.constexpr, PRECISION: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    sums = tl.zeros([BLOCK, BLOCK], tl.float32)
    for first in range(0, K, BLOCK):
        inner = first + tl.arange(0, BLOCK)
        left = tl.load(
            a + rows * K + inner[None, :], mask=(rows < M) & (inner[None, :] < K), other=0.0
        )
        right = tl.load(
            b + inner[:, None] * N + columns, mask=(inner[:, None] < K) & (columns < N), other=0.0
        )
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
    tl.store(out + rows * N + columns, sums, mask=(rows < M) & (columns < N))


def matmul(a, b, precision):
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty(M, N)
    grid = triton.cdiv(M, 32), triton.cdiv(N, 32)
    _matmul[grid](a, b, out, M, N, K, BLOCK=32, PRECISION=precision)
    return out


@triton.jit
def _histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(counts + bins, 1, mask=at < n)


def histogram(x):
    counts = torch.zeros(4, dtype=torch.int32)
    _histogram[(triton.cdiv(x.numel(), 32),)](x, counts, x.numel(), BLOCK=32)
    return counts


@triton.jit
def _scratch(x, room, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(room + at, tl.load(x + at))
    tl.debug_barrier()
    tl.store(out + at, tl.load(room + (BLOCK - 1 - at)))


def turned(x):
    out, room = torch.empty_like(x), torch.empty_like(x)
    _scratch[(1,)](x, room, out, BLOCK=x.numel())
    return out


@triton.jit
def _functions(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    value = libdevice.tanh(tl.fma(value, value, tl.sqrt(value))) + tl.rsqrt(value)
    tl.store(out + at, tl.cumsum(libdevice.abs(value), 0))


def functions(x):
    out = torch.empty_like(x)
    _functions[(1,)](x, out, BLOCK=x.numel())
    return out


@triton.jit
def _pair(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + BLOCK + at, tl.load(x + at))


def moved(x):
    half = x.numel() // 2
    _pair[(1,)](x[:half], BLOCK=half)
    return x


def broken(x, y):
    add(x, y)
    raise ValueError("after a launch")
"""


@pytest.fixture(scope="module")
def student() -> Iterator[Student]:
    with fresh_student("cpu", SOURCE) as made:
        now = time.monotonic()
        made.begin_(now + 300, now + 300, 0)
        yield made


def metered(student: Student, name: str, *args: object) -> Metered:
    with student.metered() as meter:
        getattr(student, name)(*args)
    ((_, found),) = meter.launches
    return found


def test_vector_add_moves_three_tensors_and_adds_each_lane(student: Student) -> None:
    got = metered(student, "add", torch.ones(1000), torch.ones(1000))

    size = 4 * 1000
    assert (got.kernel, got.grid, got.times) == ("_add", (16, 1, 1), 1)
    assert (got.loaded, got.stored, got.atomic) == (2 * size, size, 0)
    assert (got.requested, got.least, got.partial) == (3 * size, 3 * size, False)
    assert got.flops == {"fp32": 16 * 64}  # lanes behind the mask are added too
    assert (got.dots, got.special) == ({}, {})
    once = [(t.name, t.read_once, t.written_once) for t in got.tensors]
    assert sorted(once) == [("out", 0, size), ("x", size, 0), ("y", size, 0)]


def test_softmax_has_a_difference_a_sum_and_two_special_functions(student: Student) -> None:
    rows, width, block = 7, 100, 128

    got = metered(student, "softmax", torch.randn(rows, width))

    assert (got.loaded, got.stored) == (4 * rows * width, 4 * rows * width)
    assert got.flops == {"fp32": rows * (block + block - 1)}
    assert got.special == {"exp": rows * block, "div": rows * block}


def test_second_pass_over_a_row_is_requested_again_and_no_more_bytes_at_least(
    student: Student,
) -> None:
    x = torch.randn(3, 100, dtype=torch.bfloat16)
    size = 2 * 3 * 100

    twice, once = metered(student, "norm", x, True), metered(student, "norm", x, False)

    assert (twice.loaded, twice.stored, twice.least) == (2 * size, size, 2 * size)
    assert (once.loaded, once.stored, once.least) == (size, size, 2 * size)
    # Four blocks of 32 added and subtracted, 31 sums; a block of 128 subtracted, 127 sums.
    assert twice.flops == {"fp32": 3 * (4 * 32 + 4 * 32 + 31)}
    assert once.flops == {"fp32": 3 * (128 + 127)}


@pytest.mark.parametrize(
    ("dtype", "precision", "kind"),
    [
        (torch.float32, "ieee", "fp32"),
        (torch.float32, "tf32", "tf32"),
        (torch.float32, "tf32x3", "tf32x3"),
        (torch.bfloat16, "tf32", "bf16"),
        (torch.float16, "tf32", "fp16"),
    ],
)
def test_matmul_has_two_flops_for_each_product_and_loads_a_block_once_for_each_of_the_other(
    student: Student, dtype: torch.dtype, precision: str, kind: str
) -> None:
    m, n, k = 64, 96, 32 * 5
    a, b = torch.randn(m, k).to(dtype), torch.randn(k, n).to(dtype)

    got = metered(student, "matmul", a, b, precision)

    assert got.dots == {kind: 2 * m * n * k}
    assert got.flops == {}
    size = dtype.itemsize
    assert got.loaded == size * (m * k * (n // 32) + k * n * (m // 32))
    assert got.least == size * (m * k + k * n) + 4 * m * n
    assert got.grid == (2, 3, 1)


def test_product_of_blocks_beyond_the_edge_is_computed_and_not_loaded(student: Student) -> None:
    m, n, k = 33, 20, 40

    got = metered(student, "matmul", torch.randn(m, k), torch.randn(k, n), "ieee")

    assert got.dots == {"fp32": 2 * 64 * 32 * 64}
    assert got.loaded == 4 * (m * k + 2 * k * n)


def test_atomics_count_each_lane_and_each_address_once(student: Student) -> None:
    x = torch.tensor([0, 3, 3, 1] * 25, dtype=torch.int32)

    got = metered(student, "histogram", x)

    assert (got.loaded, got.stored, got.atomic) == (400, 0, 400)
    assert got.requested == 400 + 2 * 400
    by_name = {tensor.name: tensor for tensor in got.tensors}
    assert by_name["counts"] == Traffic("counts", 0, 0, 400, 12, 12)  # bin 2 is not touched
    assert got.flops == {}


def test_what_a_launch_has_written_itself_need_not_be_read(student: Student) -> None:
    got = metered(student, "turned", torch.randn(64))

    assert (got.loaded, got.stored) == (2 * 256, 2 * 256)
    assert got.least == 256 + 256 + 256
    room = next(tensor for tensor in got.tensors if tensor.name == "room")
    assert (room.loaded, room.read_once, room.written_once) == (256, 0, 256)


def test_functions_of_libdevice_and_running_sums_count(student: Student) -> None:
    got = metered(student, "functions", torch.rand(32) + 1)

    assert got.special == {"sqrt": 32, "tanh": 32, "rsqrt": 32}
    assert got.flops == {"fp32": 2 * 32 + 32 + 31}
    student.inspect_()  # what the meter puts into the interpreter is taken for nobody's tampering


def test_lanes_outside_of_all_tensors_are_requested_and_said_to_be_of_none(
    student: Student,
) -> None:
    got = metered(student, "moved", torch.ones(64))

    assert (got.loaded, got.stored, got.partial) == (128, 128, True)
    assert [(t.loaded, t.stored) for t in got.tensors] == [(128, 0)]


def test_equal_launches_are_told_once_and_those_before_a_fault_too(student: Student) -> None:
    with student.metered() as meter:
        student.add(torch.ones(64), torch.ones(64))
        student.add(torch.zeros(64), torch.ones(64))
    assert [launch.times for _, launch in meter.launches] == [2]

    with pytest.raises(StudentError), student.metered() as meter:
        student.broken(torch.ones(64), torch.ones(64))
    assert [launch.kernel for _, launch in meter.launches] == ["_add"]


def test_launches_beside_the_sanitizer_are_left_out_and_those_after_it_count(
    student: Student,
) -> None:
    x = torch.ones(64)

    with student.metered() as meter:
        with student.sanitized():
            student.add(x, x)
        student.softmax(torch.ones(2, 3))

    assert [launch.kernel for _, launch in meter.launches] == ["_softmax"]


def test_operations_that_an_older_triton_lacks_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    builder = importlib.import_module("triton.runtime.interpreter").InterpreterBuilder
    newer = ("create_approx_divf", "create_dot_scaled")  # than Triton 3.6
    for name in newer:
        monkeypatch.delattr(builder, name, raising=False)

    launches = Meter().stop()

    assert launches == []
    assert not any(hasattr(builder, name) for name in newer)


def test_results_are_the_same_beside_the_meter(student: Student) -> None:
    x = torch.randn(5, 77)

    with student.metered():
        got = student.softmax(x)

    torch.testing.assert_close(got, x.softmax(-1))
