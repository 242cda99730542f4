"""What memory allows: bytes that a step cannot do without, over the bandwidth of a copy."""

import statistics
import time

import torch

from bench.engine.cases import DTYPES, Case
from reference.models.checkpoint import Model

COPIED = {"cpu": 1 << 28, "cuda": 1 << 31}  # bytes, many times what a cache holds
REPEATS = 5


def bandwidth(device: str) -> float:
    """Return bytes per second, read and written, of the median copy of a large tensor."""
    source = torch.zeros(COPIED[device], dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = [_seconds(source, target) for _ in range(REPEATS + 1)][1:]
    return 2 * source.nbytes / statistics.median(seconds)


def _seconds(source: torch.Tensor, target: torch.Tensor) -> float:
    if source.is_cuda:
        torch.cuda.synchronize()
    started = time.perf_counter()
    target.copy_(source)
    if source.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - started


def step_bytes(model: Model, case: Case, weights: int) -> int:
    """Return what the middle step of a case reads: its weights, and each sequence's cache rows."""
    fields = model.fields
    row = 2 * fields["num_layers"] * fields["num_kv_heads"] * fields["head_dim"]
    rows = case.batch * (case.context + case.steps // 2)
    return weights + rows * row * DTYPES[case.dtype].itemsize
