"""A submission with Triton kernels, for ``test_triton``: it runs interpreted and compiled."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import libdevice


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.full((BLOCK, BLOCK), 0.5, tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = (rows[:, None] < M) & (inner[None, :] < K)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mask=left, other=0.0)
        right = (inner[:, None] < K) & (columns[None, :] < N)
        y = tl.load(b + inner[:, None] * N + columns[None, :], mask=right, other=0.0)
        acc = tl.dot(x, y, acc)
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], acc, mask=kept)


def matmul(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a @ b + 0.5 in the given dtype."""
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=dtype, device=a.device)
    matmul_kernel[triton.cdiv(M, 16), triton.cdiv(N, 16)](a, b, c, M, N, K, BLOCK=16)
    return c


@triton.jit
def cast_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    y = torch.empty_like(x, dtype=dtype)
    cast_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y


@triton.jit
def binary_kernel(x, y, z, WHICH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    if WHICH == "add":
        c = a + b
    elif WHICH == "subtract":
        c = a - b
    elif WHICH == "multiply":
        c = a * b
    elif WHICH == "negative":
        c = -a
    elif WHICH == "constant":
        c = a * 1.5
    elif WHICH == "maximum":
        c = tl.maximum(a, b)
    elif WHICH == "python_max":
        c = max(a, b)
    elif WHICH == "select":
        c = tl.where(a < b, a, b)
    elif WHICH == "count":
        c = (a < b).to(tl.float32)
    elif WHICH == "reduce_max":
        c = tl.max(a, 0) + tl.zeros((BLOCK,), a.dtype)
    elif WHICH == "argmin":
        c = tl.argmin(a, 0) + tl.zeros((BLOCK,), tl.float32)
    elif WHICH == "sort":
        c = tl.sort(a)
    else:
        c = tl.sum(tl.where(i < 2, a, 0.0), 0) + tl.zeros((BLOCK,), a.dtype)
    tl.store(z + i, c)


def binary(x: Tensor, y: Tensor, which: str) -> Tensor:
    z = torch.empty_like(x)
    binary_kernel[(1,)](x, y, z, WHICH=which, BLOCK=x.numel())
    return z


@triton.jit
def cumulate_kernel(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.cumsum(tl.load(x + i), 0))


def cumulate(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    cumulate_kernel[(1,)](x, y, BLOCK=x.numel())
    return y


@triton.jit
def histogram_kernel(x, bins, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = i < n
    tl.atomic_add(out + tl.load(bins + i, mask=kept), tl.load(x + i, mask=kept), mask=kept)


def histogram(x: Tensor, bins: Tensor, count: int) -> Tensor:
    out = torch.zeros(count, dtype=x.dtype, device=x.device)
    histogram_kernel[(triton.cdiv(x.numel(), 32),)](x, bins, out, x.numel(), BLOCK=32)
    return out


@triton.jit
def tiles_kernel(x, y, M, N, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [HEIGHT, WIDTH])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [HEIGHT, WIDTH])
    row = tl.program_id(0) * HEIGHT
    for column in range(0, N, WIDTH):
        target.store([row, column], source.load([row, column]) * 2)


def tiles(x: Tensor) -> Tensor:
    """Return 2x, moved by descriptors in tiles that stick out at both ends."""
    triton.set_allocator(lambda size, _align, _stream: torch.empty(size, dtype=torch.int8).cuda())
    y = torch.zeros_like(x)
    tiles_kernel[(triton.cdiv(x.shape[0], 8),)](x, y, *x.shape, HEIGHT=8, WIDTH=16)
    return y


@triton.jit
def softmax_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    values = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, 0))
    hidden = (values - values) * weights  # NaN in the lanes that the mask hides
    tl.store(y + row + i, weights / tl.sum(weights, 0) + hidden, mask=i < n)


def softmax(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    softmax_kernel[[x.shape[0]]](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


@triton.jit
def library_kernel(x, y, WHICH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i)
    if WHICH == "tanh":
        c = libdevice.tanh(a)
    elif WHICH == "rsqrt":
        c = libdevice.rsqrt(a * a + 1)
    elif WHICH == "erf":
        c = libdevice.erf(a)
    elif WHICH == "pow":
        c = libdevice.pow(a * a + 1, 1.5)
    elif WHICH == "scalar":
        c = libdevice.exp(tl.max(a, 0)) + tl.zeros((BLOCK,), tl.float32)
    else:
        c = libdevice.j0(a)
    tl.store(y + i, c)


def library(x: Tensor, which: str) -> Tensor:
    y = torch.empty_like(x)
    library_kernel[(1,)](x, y, WHICH=which, BLOCK=x.numel())
    return y


@triton.jit
def square_kernel(x, y, PRECISION: tl.constexpr):
    i, k = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    a = tl.load(x + i * 16 + k)
    tl.store(y + i * 16 + k, tl.dot(a, a, input_precision=PRECISION))


def square(x: Tensor, precision: str) -> Tensor:
    """Return x @ x of 16 x 16."""
    y = torch.empty_like(x)
    square_kernel[(1,)](x, y, PRECISION=precision)
    return y


@triton.jit
def printing_kernel(x, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    print("print", value)
    tl.device_print("device_print", value)


def printing(x: Tensor) -> None:
    printing_kernel[(1,)](x, BLOCK=x.numel())


CONFIGS = [triton.Config({"BLOCK": size}, num_warps=2) for size in (32, 64)]


@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def tuned_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@triton.heuristics({"BLOCK": lambda args: 32 if args["n"] < 100 else 64})
@triton.jit
def chosen_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def _double(kernel, x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


def tuned(x: Tensor) -> Tensor:
    return _double(tuned_kernel, x)


def chosen(x: Tensor) -> Tensor:
    return _double(chosen_kernel, x)


def warmed(x: Tensor) -> None:
    """Compile a kernel without a launch."""
    cast_kernel.warmup(x, x, x.numel(), BLOCK=64, grid=(1,))


@triton.jit
def broken_kernel(x):
    value = tl.load(x)
    tl.store(x, tl.no_such_function(value))


def broken(x: Tensor) -> None:
    broken_kernel[(1,)](x)


@triton.jit
def torch_kernel(x, y, n):
    PLAIN[1].copy_(PLAIN[0] * 2)


PLAIN: list[Tensor] = []


def by_torch(x: Tensor) -> Tensor:
    """Return 2 * x, which the body of a kernel has torch compute."""
    PLAIN[:] = x, torch.empty_like(x)
    torch_kernel[(1,)](*PLAIN, x.numel())
    return PLAIN[1]


def spread(x: Tensor) -> Tensor:
    """Take memory for two tensors that are ten times as large as the argument."""
    wide = x.repeat(10)
    return (wide + 1)[:1]


def lie(value: object) -> None:
    """Answer every reading with a value of one's own."""
    from grader.worker import probes

    probes.Probes.run = lambda *_: value
