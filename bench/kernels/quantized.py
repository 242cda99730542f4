"""Linear layers for a few rows of x: our int4 and int8, torch's bf16, torchao, and a copy.

Weights are made once for all rounds, as a decoder's are; x is new in each. Two sets take turns, as
a decoder's layers do: of one alone the cache would keep a part. They are of a kind that int4, int8
and bf16 all hold exactly, so every peer is checked against the same product.
"""

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F

from bench.kernels.case import COPY, SIMPLE, SOLUTION, Case, Peer, Slot, copy_of, function, peer

LAB = 9
SIZES = ((57_344, 8192, 32), (8192, 28_672, 128))  # outputs, inputs, group: an MLP of 70B Llama
ROWS = (1, 64)  # of x: decoding one sequence, and a batch where weight-only may not pay
SETS = 2  # of weights, read in turn
BASELINE, TORCHAO = "torch bf16", "torchao"
NOT_INSTALLED = "not installed: pip install torchao"
ROUNDING = 0.01  # torchao's int8 has scales of its own: half a step of 1/127 at most
OUTS_AT_ONCE = 4096  # of the trusted product in float64


def cases(solution: Any, simple: Any) -> tuple[Case, ...]:
    """Every size in int4, then in int8, for each number of rows; the missing are shown as such."""
    return tuple(
        case
        for size in SIZES
        for kind in (int4_cases, int8_cases)
        for case in kind(size, solution, simple)
    )


def int4_cases(size: tuple[int, int, int], solution: Any, simple: Any) -> list[Case]:
    """``int4_matmul`` of [rows, width] with weights in groups."""
    num_out, width, group = size
    name = "int4_matmul"

    def ours(call: Any, slot: Slot) -> Any:
        x, _, *stored = slot
        return call(x, *stored, group)

    options = {"group_size": group, "int4_packing_format": "tile_packed_to_4d"}
    peers = (
        peer(SOLUTION, function(solution, name), ours),
        peer(SIMPLE, function(simple, name), ours),
        _torchao("Int4WeightOnlyConfig", options),
    )
    groups = num_out * width // group
    stored = num_out * width // 2 + 5 * groups  # a float32 scale and a zero of a byte
    return _cases(name, size, in_turn(partial(int4_weights, size)), peers, stored)


def int8_cases(size: tuple[int, int, int], solution: Any, simple: Any) -> list[Case]:
    """The forward of ``Int8Linear``: int8 has no function of its own."""
    num_out, width, _ = size
    name = "Int8Linear"
    peers = (
        _layer(SOLUTION, function(solution, name)),
        _layer(SIMPLE, function(simple, name)),
        _torchao("Int8WeightOnlyConfig", {}),
    )
    stored = num_out * width + 4 * num_out
    return _cases(name, size, in_turn(partial(int8_weights, size)), peers, stored)


def _cases(
    kernel: str,
    size: tuple[int, int, int],
    weights: Callable[[Generator], Slot],  # bf16 [O, I], then what a peer may want of them
    peers: Sequence[Peer],
    stored: int,  # bytes of the weights
) -> list[Case]:
    num_out, width, group = size
    shown = f"{num_out} x {width}" + (f", group {group}" if kernel == "int4_matmul" else "")
    made: list[Case] = []
    for rows in ROWS:
        least = stored + 2 * rows * (width + num_out)
        copy = partial(_copy, least // 2)  # read and written
        made.append(
            Case(
                kernel=kernel,
                name=f"{rows} row{'s' * (rows > 1)}, {shown}",
                inputs=partial(_draw, rows, width, weights),
                trusted=trusted_product,
                peers=(*peers[:2], Peer(BASELINE, _bf16), *peers[2:], Peer(COPY, copy)),
                compare="matmul",
                inner=width,
                baseline=BASELINE,
                bytes=least,
            )
        )
    return made


def _bf16(slot: Slot) -> Tensor:
    return F.linear(slot[0], slot[1])


def _copy(amount: int, slot: Slot) -> tuple[Tensor, ...]:
    return copy_of(slot[1:2], amount // slot[1].element_size())


def _draw(
    rows: int, width: int, weights: Callable[[Generator], Slot], generator: Generator
) -> Slot:
    x = torch.empty(rows, width, dtype=torch.bfloat16, device=generator.device)
    return (x.normal_(generator=generator), *weights(generator))


def in_turn(make: Callable[[Generator], Slot]) -> Callable[[Generator], Slot]:
    """Return what the first ``SETS`` calls make, one after the other, in all calls."""
    kept: list[Slot] = []
    turns = count()

    def get(generator: Generator) -> Slot:
        if len(kept) < SETS:
            kept.append(make(generator))
        return kept[next(turns) % SETS]

    return get


def int4_weights(size: tuple[int, int, int], generator: Generator) -> Slot:
    """Return bf16 weights [O, I], and the same packed: uint8, scale float32, zero uint8.

    Scales are powers of two; both ends of the range occur in each group, so that whoever takes
    its least and its largest weight finds these very codes.
    """
    num_out, width, group = size
    drawn = partial(torch.randint, generator=generator, device=generator.device)
    shape = num_out, width // group
    codes = drawn(0, 16, (*shape, group), dtype=torch.uint8)
    codes[..., 0], codes[..., -1] = 0, 15
    zero = drawn(0, 16, shape, dtype=torch.uint8)
    scale = 1.0 / (1 << drawn(7, 10, shape))  # exact, as a power of 2.0 is not on every GPU
    steps = (codes.to(torch.int8) - zero.to(torch.int8)[..., None]).to(torch.bfloat16)
    weights = (steps * scale.to(torch.bfloat16)[..., None]).flatten(1)
    flat = codes.flatten(1)
    return weights, flat[:, 0::2] | flat[:, 1::2] << 4, scale, zero


def int8_weights(size: tuple[int, int, int], generator: Generator) -> Slot:
    """Return bf16 weights [O, I] whose rows are codes up to 127 times a power of two."""
    num_out, width, _ = size
    drawn = partial(torch.randint, generator=generator, device=generator.device)
    codes = drawn(-127, 128, (num_out, width), dtype=torch.int8)
    codes[:, 0] = 127
    scale = 1.0 / (1 << drawn(10, 13, (num_out, 1)))
    return (codes.to(torch.bfloat16) * scale.to(torch.bfloat16),)


def trusted_product(slot: Slot) -> tuple[Tensor, ...]:
    """x @ W.T in float64."""
    x, weights = slot[:2]
    parts = [x.double() @ part.double().T for part in weights.split(OUTS_AT_ONCE)]
    return (torch.cat(parts, dim=1),)


def _layer(name: str, linear_cls: Any) -> Peer:
    make = None if linear_cls is None else linear_cls.from_float
    return peer(name, make and _kept(make), lambda call, slot: call(slot))


def _kept(make: Callable[[nn.Linear], Any]) -> Callable[[Slot], Tensor]:
    """Return a call of the layer that is made from a slot's weights when they first come."""
    kept: dict[int, Any] = {}

    def call(slot: Slot) -> Tensor:
        x, weights = slot[:2]
        place = weights.data_ptr()
        if place not in kept:
            kept[place] = make(linear_of(weights))
        return kept[place](x)

    return call


def linear_of(weights: Tensor) -> nn.Linear:  # [O, I]
    """Return a layer without a bias that has these weights, not a copy."""
    num_out, width = weights.shape
    linear = nn.Linear(width, num_out, bias=False, device="meta")
    linear.weight = nn.Parameter(weights, requires_grad=False)
    return linear


def _torchao(config: str, options: dict[str, Any]) -> Peer:
    try:
        quantization: Any = importlib.import_module("torchao.quantization")
    except ImportError:
        return Peer(TORCHAO, None, missing=NOT_INSTALLED)

    def make(linear: nn.Linear) -> nn.Module:
        model = nn.Sequential(linear)
        quantization.quantize_(model, getattr(quantization, config)(**options))
        return model

    return Peer(TORCHAO, _kept(make), rounding=ROUNDING)
