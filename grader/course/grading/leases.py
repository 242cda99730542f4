"""Which GPU a grading of a class runs on: one of them at a time for one grading.

The lease is a lock on a file: it ends with the process that holds it, however that ends, and all
judges of one machine keep to it. Inside a grading ``sandbox/gpu`` keeps timing apart from the rest.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager

from grader.sandbox import gpu
from grader.sandbox.gpu import VISIBLE


def visible_gpus() -> tuple[str, ...]:
    """Name the GPUs that may be used: those of CUDA_VISIBLE_DEVICES, else all of the machine."""
    if VISIBLE in os.environ:
        return tuple(gpu.visible())
    query = ("--query-gpu=index", "--format=csv,noheader")
    lines = gpu.ask(*query, failure="the GPUs cannot be listed")
    if lines is None:
        return ("0",)
    return tuple(line.strip() for line in lines if line.strip())


@contextmanager
def leased_gpu() -> Generator[None, None, None]:
    """Wait for the GPU that this process sees, and keep it from other gradings meanwhile."""
    handle = gpu.open_lock("lease")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
