"""Attention forward in bf16: our two answers, torch's flash backend and cuDNN; then packed."""

import itertools
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from bench.kernels.case import SIMPLE, SOLUTION, Case, Peer, Slot, function, peer, whole

LAB = 7
LENGTHS = (4096, 8192, 16384)
WIDTHS = (64, 128)
TOKENS = 16384  # of a batch, whatever its lengths
MODEL_WIDTH = 2048  # heads times head width
PACKED_LENGTH = 4096
BASELINE, CUDNN = "torch flash", "torch cuDNN"


def cases(solution: Any, simple: Any) -> tuple[Case, ...]:
    """Every width and length, causal and full; then equal lengths, packed against padded."""
    kinds = [(width, causal) for width in WIDTHS for causal in (True, False)]
    padded = [_padded(w, length, c, solution, simple) for w, c in kinds for length in LENGTHS]
    return (*padded, *(_packed(width, causal, solution, simple) for width, causal in kinds))


def _padded(width: int, length: int, causal: bool, solution: Any, simple: Any) -> Case:
    name = "flash_attention"
    peers = (
        peer(SOLUTION, function(solution, name), partial(_call, causal)),
        peer(SIMPLE, function(simple, name), partial(_call, causal)),
        Peer(BASELINE, partial(_by_torch, SDPBackend.FLASH_ATTENTION, causal)),
        Peer(CUDNN, partial(_by_torch, SDPBackend.CUDNN_ATTENTION, causal)),
    )
    return _case(name, width, length, causal, peers, _draw)


def _packed(width: int, causal: bool, solution: Any, simple: Any) -> Case:
    """The packed layout costs index arithmetic and loose tiles; the padded one is the measure."""
    name = "flash_attention_varlen"
    shape = _shape(width, PACKED_LENGTH)
    packed = partial(_call_packed, causal)
    back = partial(_padded_again, shape)
    padded = "solution, padded"
    peers = (
        peer(SOLUTION, function(solution, name), packed, back),
        peer(padded, function(solution, "flash_attention"), partial(_call, causal)),
        peer(SIMPLE, function(simple, name), packed, back),
        Peer(BASELINE, partial(_by_torch, SDPBackend.FLASH_ATTENTION, causal)),
    )
    return _case(name, width, PACKED_LENGTH, causal, peers, _draw_packed, padded)


def _case(
    kernel: str,
    width: int,
    length: int,
    causal: bool,
    peers: tuple[Peer, ...],
    draw: Any,
    baseline: str = BASELINE,
) -> Case:
    batch, heads, _, _ = _shape(width, length)
    # Two products of T x T x D, of which a causal mask leaves half.
    flops = 4 * batch * heads * length * length * width // (2 if causal else 1)
    return Case(
        kernel=kernel,
        name=f"{batch} x {heads} x {length} x {width}, {'causal' if causal else 'full'}",
        inputs=partial(draw, width, length),
        trusted=partial(trusted_attention, causal),
        peers=peers,
        compare="attention",
        inner=length,
        baseline=baseline,
        flops=flops,
    )


def _shape(width: int, length: int) -> tuple[int, int, int, int]:
    return TOKENS // length, MODEL_WIDTH // width, length, width


def _draw(width: int, length: int, generator: Generator) -> Slot:
    q, k, v = (
        torch.empty(_shape(width, length), dtype=torch.bfloat16, device=generator.device).normal_(
            generator=generator
        )
        for _ in range(3)
    )
    return q, k, v


def _draw_packed(width: int, length: int, generator: Generator) -> Slot:
    """The padded q, k, v, the same packed, and where each sequence starts."""
    padded = _draw(width, length, generator)
    batch, heads, _, _ = padded[0].shape
    packed = (x.transpose(1, 2).reshape(batch * length, heads, width) for x in padded)
    starts = torch.arange(batch + 1, dtype=torch.int32, device=generator.device) * length
    return (*padded, *packed, starts)


def _call(causal: bool, attend: Any, slot: Slot) -> Any:
    return attend(*slot[:3], causal=causal)


def _call_packed(causal: bool, attend: Any, slot: Slot) -> Any:
    q, k, v, starts = slot[3:]
    return attend(q, k, v, starts, starts, causal=causal)


def _padded_again(shape: tuple[int, int, int, int], result: Any) -> tuple[Tensor, ...]:
    batch, heads, length, width = shape
    (o,) = whole(result)
    return (o.reshape(batch, length, heads, width).transpose(1, 2),)


def _by_torch(backend: SDPBackend, causal: bool, slot: Slot) -> Tensor:
    q, k, v = slot[:3]
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=causal)


def trusted_attention(causal: bool, slot: Slot) -> tuple[Tensor, ...]:
    """o and lse in float32, head by head: one matrix of scores at a time."""
    q, k, v = slot[:3]
    o = torch.empty_like(q, dtype=torch.float32)
    lse = torch.empty_like(q[..., 0], dtype=torch.float32)
    for batch, head in itertools.product(*map(range, q.shape[:2])):
        scores = (q[batch, head].float() * q.shape[-1] ** -0.5) @ k[batch, head].float().T
        if causal:
            above = torch.ones_like(scores, dtype=torch.bool).triu_(1)
            scores.masked_fill_(above, float("-inf"))
        lse[batch, head] = scores.logsumexp(-1)
        o[batch, head] = scores.softmax(-1) @ v[batch, head].float()
    return o, lse
