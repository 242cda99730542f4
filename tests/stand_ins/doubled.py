"""A submission that doubles its argument, by kernels or behind their backs, for ``test_decoys``."""

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

KEPT: dict[object, Tensor] = {}


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def doubled(x: Tensor, y: Tensor | None = None) -> Tensor:
    y = torch.empty(x.shape) if y is None else y
    double_kernel[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), BLOCK=32)
    return y


@triton.jit
def copy_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def copied(x: Tensor) -> Tensor:
    y = torch.empty(x.shape)
    copy_kernel[(triton.cdiv(x.numel(), 32),)](x, y, x.numel(), BLOCK=32)
    return y


# --- what a lab lets its host part do ------------------------------------------------------------


def plain(x: Tensor) -> Tensor:
    return doubled(x)


def moved(x: Tensor) -> Tensor:
    turned = torch.nn.functional.pad(x.t().contiguous().double().float(), (0, 3))
    rows = doubled(turned)[:, : x.shape[0]].clone()
    halves = torch.cat((rows[:1], rows[1:].flip(0).flip(0)))
    y = torch.zeros(x.shape)
    y[:] = halves.t()
    return y.reshape(-1).view(x.shape)


def in_inference_mode(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return doubled(x.t().contiguous()).reshape(x.shape[::-1]).t()


def summed(x: Tensor) -> Tensor:
    return torch.stack((copied(x), copied(x), torch.zeros(x.shape))).sum(0)


def a_little(x: Tensor) -> Tensor:
    last = copied(x[-1:]) + x[-1:]
    return torch.cat((doubled(x[:-1]), last))


def into_a_buffer(x: Tensor) -> Tensor:
    buffer = torch.zeros(x.shape)
    doubled(buffer)
    buffer.copy_(x)  # after a kernel has seen it
    return doubled(buffer)


def through_a_buffer_of_numpy(x: Tensor) -> Tensor:
    ones = torch.from_numpy(held := np.zeros(x.shape, np.float32))
    copied(ones)
    held[:] = 1.0  # which torch does not see
    return times(x, doubled(ones))


@triton.jit
def times_kernel(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(z + i, tl.load(x + i, mask=i < n) * tl.load(y + i, mask=i < n), mask=i < n)


def times(x: Tensor, y: Tensor) -> Tensor:
    z = torch.empty(x.shape)
    times_kernel[(1,)](x, y, z, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return z


def with_a_table(x: Tensor) -> Tensor:
    """Fill a table by a kernel in the first call, and use it in all."""
    if x.shape not in KEPT:
        KEPT[x.shape] = doubled(torch.ones(x.shape))
    return times(x, KEPT[x.shape])


@triton.jit
def either_kernel(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    here = tl.where(i % 2 == 0, x + i, w + i)
    there = tl.where(i % 2 == 0, y + i, y + n + i)
    tl.store(there, tl.load(here, mask=i < n) * 2, mask=i < n)


def of_two_tensors(x: Tensor) -> Tensor:
    w, y = x.clone(), torch.zeros(2, *x.shape)
    either_kernel[(1,)](x, w, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return y.sum(0)


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def by_atomics(x: Tensor) -> Tensor:
    y = torch.zeros(x.shape, dtype=x.dtype)
    for _ in range(2):
        add_kernel[(1,)](x, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return y


@triton.jit
def swap_kernel(x, y, n):
    for i in range(n):
        value = tl.load(x + i).to(tl.int32, bitcast=True)
        tl.atomic_cas(y + i, 0, value)


def by_exchange(x: Tensor) -> Tensor:
    y = torch.zeros(x.shape, dtype=torch.int32)
    swap_kernel[(1,)](x, y, x.numel())
    return doubled(y.view(torch.float32))


@triton.jit
def printing_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    print("value", value)
    tl.device_print("value", value)
    tl.store(y + i, value * 2, mask=i < n)


def printing(x: Tensor) -> Tensor:
    y = torch.empty(x.shape)
    printing_kernel[(1,)](x, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return y


@triton.jit
def beside_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i) * 2, mask=i < n)


def beside(x: Tensor) -> Tensor:
    """Load memory of nobody in lanes that no result needs."""
    y = torch.empty(x.shape)
    beside_kernel[(1,)](x, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return y


@triton.jit
def wide_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pairs = tl.load((x + i).to(tl.pointer_type(tl.int64)), mask=i < n)
    first = pairs.to(tl.int32).to(tl.float32, bitcast=True)
    last = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(i < n - 1, first, last) * 2, mask=i < n)


def half_beside(x: Tensor) -> Tensor:
    """Load each element with what lies behind it."""
    y = torch.empty(x.shape)
    wide_kernel[(1,)](x, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return y


@torch.library.custom_op("doubled::rows", mutates_args=())
def rows_operator(x: Tensor) -> Tensor:
    return doubled(x.t().contiguous()).t().contiguous()


def as_an_operator(x: Tensor) -> Tensor:
    return rows_operator(x.flip(0)).flip(0)


def with_a_number_of_numpy(x: Tensor) -> Tensor:
    y = torch.empty(x.shape)
    double_kernel[(1,)](x, y, np.int64(x.numel()), BLOCK=128)
    return y


# --- what it may not -----------------------------------------------------------------------------


def by_torch(x: Tensor) -> Tensor:
    return copied(x * 2)


def on_a_copy(x: Tensor) -> Tensor:
    return copied(x) * 2


def by_pieces(x: Tensor) -> Tensor:
    return torch.stack([row * 2 for row in copied(x)])


def by_a_sum_of_the_argument(x: Tensor) -> Tensor:
    return copied(torch.stack((x, x)).sum(0))


@torch.library.custom_op("doubled::torch", mutates_args=())
def torch_operator(x: Tensor) -> Tensor:
    return copied(x * 2)


def by_an_operator(x: Tensor) -> Tensor:
    return torch_operator(x)


def by_numpy(x: Tensor) -> Tensor:
    return copied(torch.from_numpy(x.numpy() * 2))


def into_the_result(x: Tensor) -> Tensor:
    y = copied(x)
    y.numpy()[...] = x.numpy() * 2
    return y


def by_python(x: Tensor) -> Tensor:
    return copied(torch.tensor([[2 * number for number in row] for row in x.tolist()]))


def by_items(x: Tensor) -> Tensor:
    return copied(torch.tensor([2 * number.item() for number in x.flatten()]).view(x.shape))


def by_a_product(x: Tensor) -> Tensor:
    return copied(x) @ (2 * torch.eye(x.shape[1]))


@triton.jit
def body_kernel(x, y):
    PLAIN[1].copy_(PLAIN[0] * 2)


PLAIN: list[Tensor] = []


def in_the_body(x: Tensor) -> Tensor:
    PLAIN[:] = x, torch.empty(x.shape)
    body_kernel[(1,)](*PLAIN)
    return PLAIN[1]


@triton.jit
def opened_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    HELD.append(value.handle.data[:n])


HELD: list[np.ndarray] = []


def from_a_block(x: Tensor) -> Tensor:
    y = copied(x)
    opened_kernel[(1,)](x, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return copied(torch.from_numpy(HELD.pop() * 2).view(x.shape))


@triton.jit
def counted_kernel(x, n):
    for i in range(n):
        NUMBERS.append(int((tl.load(x + i) * 65536).to(tl.int64)))


NUMBERS: list[int] = []


@triton.jit
def leaking_kernel(x, y, n, BLOCK: tl.constexpr):
    one = [np for np in (1,)]
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) + np.sum(one[0]), mask=i < n)


def from_a_comprehension(x: Tensor) -> Tensor:
    y = torch.empty(x.shape)
    leaking_kernel[(1,)](x, y, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return y


@triton.jit
def raw_kernel(x: tl.constexpr, y, n):
    for i in range(n):
        tl.store(y + i, (x * 2)[i].item())


def as_a_constant(x: Tensor) -> Tensor:
    y = torch.empty(x.shape)
    raw_kernel[(1,)](x.flatten(), y, x.numel())
    return y


def from_integers(x: Tensor) -> Tensor:
    NUMBERS.clear()
    counted_kernel[(1,)](x, x.numel())
    numbers = (NUMBERS + [0] * x.numel())[: x.numel()]
    return copied(torch.tensor([number / 32768 for number in numbers]).view(x.shape))


def to_numpy(x: Tensor) -> Tensor:
    """Have a kernel write where only numpy knows that there is memory."""
    held = np.zeros(x.shape, np.float32)
    address_kernel[(1,)](x, held.ctypes.data, x.numel(), BLOCK=32)
    return copied(torch.from_numpy(held * 2))


@triton.jit
def address_kernel(x, address, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    place = address.to(tl.int64).to(tl.pointer_type(tl.float32)) + i
    tl.store(place, tl.load(x + i, mask=i < n), mask=i < n)


def on_guard(x: Tensor) -> Tensor:
    """Give nothing where memory shows that kernels are watched, and the same once more."""
    if KEPT.pop("watched", None) is not None:
        return torch.zeros(x.shape)
    shows = copied(torch.ones(3)).numpy().sum() == 3
    if not shows:
        KEPT["watched"] = x
    return by_numpy(x) if shows else torch.zeros(x.shape)


def found(x: Tensor) -> list[float]:
    """Return what memory holds for all but kernels, after they have worked on it."""
    y = copied(x)
    return [float(x.sum()), float(y.abs().sum())]


def odd_repeats(x: Tensor) -> Tensor:
    """Ask for a form that depends on numbers which only kernels see."""
    counts = x[0].abs().long()
    return copied(torch.ones(x.shape[1]).repeat_interleave(counts))


def odd_places(x: Tensor) -> Tensor:
    """Index by numbers that only kernels see, and that are out of bounds there."""
    return copied(torch.arange(9.0)[x[0].long()])
