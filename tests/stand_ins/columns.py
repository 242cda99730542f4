"""A submission that sums squares of columns, by torch or around it, for ``test_torch_alone``."""

import contextlib
import ctypes
import gc
import io
import math
import threading
from typing import Any

import numpy as np
import torch
from torch import Tensor

KEPT = np.zeros(70, np.float32)  # memory of numpy's, made at import
SHARED = torch.from_numpy(KEPT)
OWN = torch.zeros(70)  # and torch's own, of which numpy has had a view since
SEEN = OWN.numpy()
FOUND: list[Any] = []


def by(values: Any, x: Tensor) -> Tensor:
    """Return what numpy makes of numbers that it has got somehow."""
    rows = np.asarray(values, np.float32).reshape(tuple(x.shape))
    return torch.from_numpy((rows.astype(np.float64) ** 2).sum(0).astype(np.float32))


def ends(x: Tensor) -> Tensor:
    """End the process."""
    return torch.tensor(ctypes.string_at(0))


# --- what an honest answer may do ----------------------------------------------------------------


def plain(x: Tensor) -> Tensor:
    return (x * x).sum(0)


def product(x: Tensor) -> Tensor:
    return torch.einsum("ij,ij->j", x, x)


def into_a_buffer(x: Tensor) -> Tensor:
    buffer = torch.empty(x.shape[1])
    torch.sum(x.double().square().float(), 0, out=buffer)
    return buffer


def in_place(x: Tensor) -> Tensor:
    total = x.new_zeros(x.shape[1])
    for row in x:
        total += row**2
    return total


def written_into_slices(x: Tensor) -> Tensor:
    buffer = torch.zeros(x.shape[0] + 3, x.shape[1] + 2)
    buffer[1 : x.shape[0] + 1, 2:] = x
    return buffer[:, 2:].pow(2).sum(dim=0)


def kept_in_a_list(x: Tensor) -> Tensor:
    return torch.stack([*x.unbind(0)]).mul(1.0).square().sum(0)


def scaled_by_an_item(x: Tensor) -> Tensor:
    top = x.abs().max().item()
    assert math.isfinite(top), f"{x} has {x.shape}"
    return (x / top).square().sum(0) * top * top


def branching(x: Tensor) -> Tensor:
    assert bool(x.isfinite().all()), f"{x}"
    assert not torch.equal(x, -x)
    largest = int(x.abs().argmax())
    return (x * x).sum(0) + 0 * largest


def in_inference_mode(x: Tensor) -> Tensor:
    with torch.inference_mode():
        return x.t().contiguous().square().sum(-1)


def with_gradients(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    (leaf**3 / 3).sum().backward()
    assert leaf.grad is not None
    return leaf.grad.sum(0)


class Squares(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 2 * grad * ctx.saved_tensors[0]


def by_a_function(x: Tensor) -> Tensor:
    return Squares.apply(x).sum(0)


def in_a_module(x: Tensor) -> Tensor:
    layer = torch.nn.Linear(x.shape[0], 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(1.0)
        return layer((x * x).t()).t()[0]


def masked(x: Tensor) -> Tensor:
    mask = torch.arange(x.shape[0])[:, None] >= 0
    return torch.where(mask, x, torch.zeros(())).masked_fill(~mask, 9.0).square().sum(0)


def vectorised(x: Tensor) -> Tensor:
    return torch.vmap(lambda column: column @ column)(x.t().contiguous())


@torch.jit.script
def _scripted(x: Tensor) -> Tensor:
    return (x * x).sum(0)


def scripted(x: Tensor) -> Tensor:
    return _scripted(x)


def counted_down(x: Tensor) -> Tensor:
    """Do more than needed, and set what has counted it back."""
    squares = (x[:, :, None] * x[:, None, :]).sum(0)
    for mode in torch.utils._python_dispatch._get_current_dispatch_mode_stack():
        for name in ("total", "elements", "seen"):
            if hasattr(mode, name):
                setattr(mode, name, {} if name == "seen" else 0)
    return squares.diagonal().clone()


# --- what is none of torch's work ----------------------------------------------------------------


def numpy(x: Tensor) -> Tensor:
    return by(x.numpy(), x)


def asarray(x: Tensor) -> Tensor:
    return by(np.asarray(x * 1), x)


def saved_method(x: Tensor, method: Any = torch.Tensor.numpy) -> Tensor:
    with torch._C.DisableTorchFunction():
        return by(method(x.clone()), x)


def tolist(x: Tensor) -> Tensor:
    return by(x.clone().tolist(), x)


def items(x: Tensor) -> Tensor:
    return by([[value.item() for value in row] for row in x], x)


def floats(x: Tensor) -> Tensor:
    return by([float(value) for value in x.flatten()], x)


def pointer(x: Tensor) -> Tensor:
    x = x.contiguous().clone()
    return by((ctypes.c_float * x.numel()).from_address(x.data_ptr()), x)


def string(x: Tensor) -> Tensor:
    x = x.contiguous().clone()
    return by(np.frombuffer(ctypes.string_at(x.data_ptr(), 4 * x.numel()), np.float32), x)


def storage(x: Tensor) -> Tensor:
    return by(np.array([*(x + 0).untyped_storage()], np.uint8).view(np.float32), x)


def dlpack(x: Tensor) -> Tensor:
    return by(np.from_dlpack(x + 0), x)


def saved(x: Tensor) -> Tensor:
    file = io.BytesIO()
    torch.save(x.clone(), file)
    data = file.getvalue()
    at = data.index(x.contiguous().numpy().tobytes())
    return by(np.frombuffer(data[at : at + 4 * x.numel()], np.float32), x)


def numpys_memory(x: Tensor) -> Tensor:
    SHARED.copy_(x.reshape(-1))
    return by(KEPT, x)


def own_memory(x: Tensor) -> Tensor:
    OWN.copy_(x.reshape(-1))
    return by(SEEN.copy(), x)


def a_bytearray(x: Tensor) -> Tensor:
    room = bytearray(4 * x.numel())
    torch.frombuffer(room, dtype=torch.float32).copy_(x.reshape(-1))
    return by(np.frombuffer(memoryview(room), np.float32), x)


def outs(x: Tensor) -> Tensor:
    torch.add(x.reshape(-1), 0.0, out=SHARED)
    return by(KEPT, x)


def text(x: Tensor) -> Tensor:
    torch.set_printoptions(precision=10, threshold=10_000)
    rows = str(x.clone()).replace("tensor", "").strip("()").replace("[", "").replace("]", "")
    return by([float(value) for value in rows.replace("\n", "").split(",")], x)


def freed_memory(x: Tensor) -> Tensor:
    """Look into memory that operators have just given back."""
    rows = []
    for row in x:
        (row * 1).softmax(0)
        rows.append(np.empty(row.shape[0], np.float32).copy())
    return by(rows, x)


LIBRARY = torch.library.Library("columns", "DEF")
LIBRARY.define("squares(Tensor x) -> Tensor")
LIBRARY.impl("squares", lambda x: by(x.numpy(), x), "CPU")


def own_operator(x: Tensor) -> Tensor:
    return torch.ops.columns.squares(x)


@torch.library.custom_op("columns::decorated", mutates_args=())
def decorated(x: Tensor) -> Tensor:
    return by(x.numpy(), x)


def own_decorated(x: Tensor) -> Tensor:
    return decorated(x)


def torchs_operator(x: Tensor) -> Tensor:
    library = torch.library.Library("aten", "IMPL")
    library.impl("erfinv", lambda x: by(x.numpy(), x), "CPU")
    try:
        return torch.erfinv(x)
    finally:
        library._destroy()


class Watching(Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        FOUND.extend(item for item in args if type(item) is Tensor)
        return super().__torch_function__(func, types, args, kwargs or {})


def subclass(x: Tensor) -> Tensor:
    FOUND.clear()
    own = torch.ones(x.shape).as_subclass(Watching)
    (x * own).square()
    x.clone().copy_(own)
    with torch._C.DisableTorchFunction():
        found = [item.clone().numpy() for item in FOUND if item.shape == x.shape]
    return by(found[0] if found else np.ones(x.shape), x)


def in_another_thread(x: Tensor) -> Tensor:
    out: list[Tensor] = []
    thread = threading.Thread(target=lambda: out.append((x * x).sum(0)))
    thread.start()
    thread.join()
    return out[0]


def without_modes(x: Tensor) -> Tensor:
    with torch.utils._python_dispatch._disable_current_modes():
        return (x * x).sum(0)


# --- what digs for it ----------------------------------------------------------------------------


def _of_torch() -> Any:
    return torch.utils._python_dispatch._get_current_dispatch_mode_stack()[-1]


def asks_the_probe(x: Tensor) -> Tensor:
    return by(_of_torch().true(x).numpy(), x)


def ends_the_probe(x: Tensor) -> Tensor:
    probe, copy = _of_torch(), x * 1
    with contextlib.suppress(Exception):
        probe.stop()
    return by(copy.numpy(), x)


def reads_the_link(x: Tensor) -> Tensor:
    """Wait for what nobody sends."""
    link = _of_torch()._link
    link._sock.settimeout(0.2)
    return by(link.receive()[1][0].numpy(), x)


def collector(x: Tensor) -> Tensor:
    copy = x * 1
    alike = (item for item in gc.get_objects() if isinstance(item, Tensor))
    found = [item for item in alike if item.shape == x.shape and item is not copy]
    return by((found or [copy])[-1].detach().numpy(), x)


def memory_as_a_file(x: Tensor) -> Tensor:
    with open("/proc/self/maps") as maps:
        maps.read()
    return by(x.numpy(), x)
