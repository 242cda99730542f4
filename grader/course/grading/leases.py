"""Which GPU a grading of a class runs on, and how many do at a time.

Most of a grading on a GPU is work of the processor: kernels are compiled, and their results judged.
So gradings share a GPU for that; ``confinement/gpu`` lets each have it alone for what is timed.

A lease is a lock on a file: it ends with the process that holds it, however that ends, and all
judges of one machine keep to it.
"""

import fcntl
import os
import random
from collections.abc import Generator
from contextlib import contextmanager

from grader.environment import VISIBLE
from grader.locks import open_lock
from grader.sandbox.confinement import gpu

MOST_BESIDE = 8  # gradings on one GPU: by then they wait for each other's timing
CORES_EACH = 2  # that one of them keeps busy: its judge, a worker that compiles


def visible_gpus() -> tuple[str, ...]:
    """Name the GPUs that may be used: those of CUDA_VISIBLE_DEVICES, else all of the machine."""
    if VISIBLE in os.environ:
        return tuple(gpu.visible())
    query = ("--query-gpu=index", "--format=csv,noheader")
    lines = gpu.ask(*query, failure="the GPUs cannot be listed")
    if lines is None:
        return ("0",)
    return tuple(line.strip() for line in lines if line.strip())


def beside(gpus: int) -> int:
    """Return how many gradings may share each of so many GPUs, by the cores of this machine."""
    cores = len(os.sched_getaffinity(0))
    return max(1, min(MOST_BESIDE, cores // (CORES_EACH * max(1, gpus))))


@contextmanager
def leased_gpu(places: int = 1) -> Generator[None, None, None]:
    """Wait for one of the places on the GPU that this process sees, and hold it meanwhile."""
    handles = [open_lock(gpu.lock_name(f"lease{place or ''}-")) for place in range(places)]
    try:
        if not any(_taken(handle) for handle in handles):
            fcntl.flock(random.choice(handles), fcntl.LOCK_EX)
        yield
    finally:
        for handle in handles:
            os.close(handle)


def _taken(handle: int) -> bool:
    """Take a lock if nobody has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
