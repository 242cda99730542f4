"""What the ranks run, loaded in place of a submission: it imports torch alone.

Every function returns the seconds of a call: on a GPU by CUDA events, else by the clock.
"""

import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import linear, silu
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

WARM_UP = 3
ROUNDS = 5
GPU = dist.is_initialized() and dist.get_backend() == "nccl"
DEVICE = torch.device("cuda", torch.cuda.current_device()) if GPU else torch.device("cpu")


def _first_of(*names: str) -> Any:
    """Return the first of torch's functions that this version has; one name replaces the other."""
    return next(getattr(dist, name) for name in names if hasattr(dist, name))


ALL_GATHER = _first_of("all_gather_single", "all_gather_into_tensor")
REDUCE_SCATTER = _first_of("reduce_scatter_single", "reduce_scatter_tensor")


def collective(kind: str, count: int, calls: int) -> float:
    """Return the seconds of a collective whose full tensor has ``count`` float32 elements."""
    return _seconds(_call(kind, count), calls)


def _call(kind: str, count: int) -> Callable[[], object]:
    rank, world = dist.get_rank(), dist.get_world_size()
    whole = torch.ones(count, device=DEVICE)
    part = torch.ones(count // world, device=DEVICE)
    match kind:
        case "all_reduce":
            return lambda: dist.all_reduce(whole)
        case "all_gather":
            return lambda: ALL_GATHER(whole, part)
        case "reduce_scatter":
            return lambda: REDUCE_SCATTER(part, whole)
        case "broadcast":
            return lambda: dist.broadcast(whole, 0)
        case "send_recv":  # around the ring, both ways at once
            other = torch.empty_like(whole)
            ahead, behind = (rank + 1) % world, (rank - 1) % world
            return lambda: _exchange(whole, ahead, other, behind)
        case _:
            raise ValueError(f"unknown collective {kind}")


def _exchange(sent: Tensor, ahead: int, received: Tensor, behind: int) -> None:
    works = [dist.P2POp(dist.isend, sent, ahead), dist.P2POp(dist.irecv, received, behind)]
    for work in dist.batch_isend_irecv(works):
        work.wait()


def dense_mlp(width: int, inner: int, tokens: int, calls: int) -> float:
    """Return the seconds of a whole SwiGLU MLP in bfloat16, on every rank by itself."""
    gate, up, down = _weights(width, inner)
    x = _normal(tokens, width)
    return _seconds(lambda: linear(silu(linear(x, gate)) * linear(x, up), down), calls)


def parallel_mlp(name: str, width: int, inner: int, tokens: int, calls: int) -> float:
    """Return the seconds of ``ParallelMLP`` of a file beside this one, split over the ranks."""
    file = Path(__file__).with_name(name)
    spec = importlib.util.spec_from_file_location("answer", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    mlp: Any = module.ParallelMLP(*_weights(width, inner), None)
    x = _normal(tokens, width)
    return _seconds(lambda: mlp(x), calls)


def _weights(width: int, inner: int) -> tuple[Tensor, Tensor, Tensor]:
    return _normal(inner, width), _normal(inner, width), _normal(width, inner)


def _normal(rows: int, columns: int) -> Tensor:
    generator = torch.Generator(DEVICE).manual_seed(rows * columns)
    shape = (rows, columns)
    x = torch.randn(shape, generator=generator, device=DEVICE, dtype=torch.bfloat16)
    return x / columns**0.5


@torch.inference_mode()
def _seconds(call: Callable[[], object], calls: int) -> float:
    """Return the median over some rounds of the seconds of a call; all ranks start together."""
    rounds: list[float] = []
    with _disable_current_modes():  # to note each collective would take longer than a small one
        for _ in range(WARM_UP):
            call()
        for _ in range(ROUNDS):
            dist.barrier()
            rounds.append(_round_on_gpu(call, calls) if GPU else _round(call, calls))
    return statistics.median(rounds)


def _round(call: Callable[[], object], calls: int) -> float:
    started = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - started) / calls


def _round_on_gpu(call: Callable[[], object], calls: int) -> float:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    first.record()
    for _ in range(calls):
        call()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) / 1e3 / calls
