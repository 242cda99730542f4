"""What is timed: a case, the peers that do its work, and the check that each does it."""

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from grader.proxy.values.tolerance import tolerance

CHUNK = 1 << 26  # elements compared at a time, in float64
SOLUTION, SIMPLE, COPY = "solution", "variants/simple", "device copy"

Slot = tuple[Tensor, ...]  # the tensors of one call


def whole(result: Any) -> tuple[Tensor, ...]:
    """The outputs of a call as a tuple."""
    return result if isinstance(result, tuple) else (result,)


@dataclass(frozen=True, slots=True)
class Peer:
    """One implementation; ``call`` is what is timed, ``outputs`` puts its result in our form."""

    name: str
    call: Callable[[Slot], Any] | None
    outputs: Callable[[Any], tuple[Tensor, ...]] = whole
    missing: str = ""  # why there is no call, and what to do about it
    rounding: float = 0.0  # what weights rounded in a way of its own may cost, as relative L2


@dataclass(frozen=True, slots=True)
class Case:
    """One size of one kernel. ``trusted`` computes all outputs, slowly, in high precision.

    A peer may return fewer outputs than ``trusted``, never others. Bytes and operations are the
    least that a call must move and do; rates come from the operations where there are any.
    """

    kernel: str
    name: str
    inputs: Callable[[Generator], Slot]
    trusted: Callable[[Slot], tuple[Tensor, ...]]
    peers: tuple[Peer, ...]
    compare: str  # row of the tolerance table
    inner: int  # length of the sum behind each element
    baseline: str  # the peer that ratios refer to
    bytes: int = 0
    flops: int = 0


def disagreement(case: Case, peer: Peer, slot: Slot, expected: Sequence[Tensor]) -> str:
    """Run a peer on a slot and say how its outputs are wrong; empty if they are right."""
    if peer.call is None or peer.name == COPY:
        return ""
    found = peer.outputs(peer.call(slot))
    for index, (got, want) in enumerate(zip(found, expected, strict=False)):
        if got.shape != want.shape:
            return f"output {index} has shape {list(got.shape)}, not {list(want.shape)}"
        problem = difference(got, want, case.compare, case.inner, peer.rounding)
        if problem:
            return f"output {index} {problem}"
    return ""


def difference(got: Tensor, want: Tensor, compare: str, inner: int, rounding: float = 0.0) -> str:
    """Hold a tensor against the tolerance of its own dtype, on its device; empty if it is close.

    With ``rounding`` only its relative L2 counts. ``proxy/values/compare`` would take results of
    gigabytes to the CPU.
    """
    limits = tolerance(compare, got.dtype, inner)
    off, wrong, size = 0, 0.0, 0.0
    for x, y in zip(_chunks(got), _chunks(want), strict=True):
        a, b = x.double(), y.double()
        # Of its own row: under a causal mask the first rows are much larger than the last.
        rms = b.square().mean(-1, keepdim=True).sqrt()
        error = (a - b).abs()
        # Not "error > allowed": NaN has to count as off.
        off += int((~(error <= limits.atol * rms + limits.rtol * b.abs())).sum())
        wrong += error.square().sum().item()
        size += b.square().sum().item()
    if off and not rounding:
        return f"is off in {off} of {want.numel()} values"
    relative = math.sqrt(wrong / size) if size else 0.0
    # Not "relative > limit": NaN has to count as off.
    close = relative <= limits.l2 + rounding
    return "" if close else f"is off by {relative:.1e} of its size"


def _chunks(tensor: Tensor) -> tuple[Tensor, ...]:
    rows = tensor.detach().reshape(-1, tensor.shape[-1])
    return rows.split(max(1, CHUNK // rows.shape[-1]))


def load(file: Path, name: str) -> Any:
    """Import a file of ours by its path, under that name; None if there is no such file."""
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def function(module: Any, name: str) -> Callable[..., Any] | None:
    """A function of a module that may be missing."""
    return getattr(module, name, None)


def peer(
    name: str,
    source: Callable[..., Any] | None,
    call: Callable[[Callable[..., Any], Slot], Any],
    outputs: Callable[[Any], tuple[Tensor, ...]] = whole,
    missing: str = "there is no such file or function",
) -> Peer:
    """A peer by a function that may be missing; ``call`` gives it the tensors of a slot."""
    if source is None:
        return Peer(name, None, outputs, missing)
    return Peer(name, lambda slot: call(source, slot), outputs)


def copy_of(tensors: Sequence[Tensor], elements: int) -> tuple[Tensor, ...]:
    """Copy that many elements on the device, from the first of the tensors on."""
    copies: list[Tensor] = []
    for tensor in tensors:
        part = tensor.reshape(-1)[: max(0, elements)]
        copies.append(torch.empty_like(part).copy_(part))
        elements -= part.numel()
    return tuple(copies)
