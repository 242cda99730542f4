"""LayerNorm forward and backward in bf16: our two answers, torch, Liger-Kernel and a copy."""

import importlib
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Generator, Tensor

from bench.kernels.case import COPY, SIMPLE, SOLUTION, Case, Peer, Slot, copy_of, function, peer

LAB = 6
SIZES = ((32768, 4096), (8192, 8192), (16384, 5003), (4096, 100_003))
EPS = 1e-5
ELEMENT = 2  # bytes of bf16
ROWS_AT_ONCE = 1 << 26  # elements of the trusted computation in float64
BASELINE, LIGER = "torch", "Liger-Kernel"
NOT_INSTALLED = "not installed: pip install liger-kernel"


def cases(solution: Any, simple: Any) -> tuple[Case, ...]:
    """Every size forward, then every size backward; a missing module is shown as missing."""
    liger = _liger()
    return tuple(
        direction(size, solution, simple, liger)
        for direction in (forward, backward)
        for size in SIZES
    )


def _liger() -> ModuleType | None:
    try:
        return importlib.import_module("liger_kernel.ops.layer_norm")
    except ImportError:
        return None


def forward(size: tuple[int, int], solution: Any, simple: Any, liger: Any) -> Case:
    """The forward pass of [rows, width]."""
    rows, width = size
    name = "layer_norm_forward"

    def ours(call: Any, slot: Slot) -> Any:
        return call(*slot, EPS)

    def of_torch(slot: Slot) -> Any:
        x, weight, bias = slot
        return torch.native_layer_norm(x, [width], weight, bias, EPS)

    peers = (
        peer(SOLUTION, function(solution, name), ours),
        peer(SIMPLE, function(simple, name), ours),
        Peer(BASELINE, of_torch, _flat),
        peer(LIGER, function(liger, name), ours, _of_liger, NOT_INSTALLED),
        Peer(COPY, lambda slot: copy_of(slot[:1], rows * width)),
    )
    draw, trusted = partial(_draw, size), trusted_forward
    return _case(name, size, draw, trusted, peers, "elementwise", tensors=2)


def backward(size: tuple[int, int], solution: Any, simple: Any, liger: Any) -> Case:
    """The backward pass of [rows, width]."""
    rows, width = size
    name = "layer_norm_backward"

    def ours(call: Any, slot: Slot) -> Any:
        return call(*slot)

    def of_torch(slot: Slot) -> Any:
        dy, x, weight, mean, rstd = slot
        # The bias is asked for its dtype and shape only.
        return torch.ops.aten.native_layer_norm_backward(
            dy, x, [width], mean[:, None], rstd[:, None], weight, weight, [True, True, True]
        )

    def of_liger(call: Any, slot: Slot) -> Any:
        dy, x, weight, mean, rstd = slot
        return call(dy, x, weight, weight, mean, rstd)

    peers = (
        peer(SOLUTION, function(solution, name), ours),
        peer(SIMPLE, function(simple, name), ours),
        Peer(BASELINE, of_torch),
        peer(LIGER, function(liger, name), of_liger, missing=NOT_INSTALLED),
        Peer(COPY, lambda slot: copy_of(slot[:2], rows * width * 3 // 2)),
    )
    draw, trusted = partial(_draw_backward, size), trusted_backward
    return _case(name, size, draw, trusted, peers, "backward", tensors=3)


def _case(
    kernel: str,
    size: tuple[int, int],
    draw: Callable[[Generator], Slot],
    trusted: Callable[[Slot], tuple[Tensor, ...]],
    peers: tuple[Peer, ...],
    compare: str,
    *,
    tensors: int,  # of the size that a call has to read or write
) -> Case:
    rows, width = size
    return Case(
        kernel=kernel,
        name=f"{rows} x {width}",
        inputs=draw,
        trusted=trusted,
        peers=peers,
        compare=compare,
        inner=width,
        baseline=BASELINE,
        bytes=tensors * rows * width * ELEMENT,
    )


def _flat(result: Any) -> tuple[Tensor, ...]:
    y, mean, rstd = result
    return y, mean.reshape(-1), rstd.reshape(-1)


def _of_liger(result: Any) -> tuple[Tensor, ...]:
    return result[0], result[2], result[3]


def _draw(size: tuple[int, int], generator: Generator) -> Slot:
    rows, width = size
    return (
        _normal(generator, rows, width).add_(0.5),
        _normal(generator, width).add_(1.0),
        _normal(generator, width),
    )


def _draw_backward(size: tuple[int, int], generator: Generator) -> Slot:
    x, weight, _ = _draw(size, generator)
    mean, rstd = (torch.cat(parts) for parts in zip(*map(_statistics, _chunks(x)), strict=True))
    return _normal(generator, *size), x, weight, mean.float(), rstd.float()


def _normal(generator: Generator, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.bfloat16, device=generator.device).normal_(
        generator=generator
    )


def _chunks(x: Tensor) -> Iterable[Tensor]:
    return x.split(max(1, ROWS_AT_ONCE // x.shape[-1]))


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    variance, mean = torch.var_mean(x.double(), dim=-1, correction=0)
    return mean, (variance + EPS).rsqrt()


def trusted_forward(slot: Slot) -> tuple[Tensor, ...]:
    """y, mean and rstd in float64, y rounded to float32 to halve its room."""
    x, weight, bias = slot
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    for rows in _chunks(x):
        mean, rstd = _statistics(rows)
        normed = (rows.double() - mean[:, None]) * rstd[:, None]
        parts.append(((normed * weight.double() + bias.double()).float(), mean, rstd))
    return tuple(torch.cat(outputs) for outputs in zip(*parts, strict=True))


def trusted_backward(slot: Slot) -> tuple[Tensor, ...]:
    """dx, dweight and dbias in float64, dx rounded to float32 to halve its room."""
    dy, x, weight, mean, rstd = slot
    dweight = torch.zeros_like(weight, dtype=torch.float64)
    dbias = torch.zeros_like(dweight)
    parts: list[Tensor] = []
    pieces = (_chunks(t) for t in (dy, x))
    step = max(1, ROWS_AT_ONCE // x.shape[-1])
    for g, rows, m, r in zip(*pieces, mean.split(step), rstd.split(step), strict=True):
        normed = (rows.double() - m.double()[:, None]) * r.double()[:, None]
        dweight += (g.double() * normed).sum(0)
        dbias += g.double().sum(0)
        scaled = g.double() * weight.double()
        inner = scaled - scaled.mean(-1, keepdim=True)
        inner -= normed * (scaled * normed).mean(-1, keepdim=True)
        parts.append((inner * r.double()[:, None]).float())
    return torch.cat(parts), dweight, dbias
