"""Which GPU a grading of a class runs on: one of them at a time for one grading.

The lease is a lock on a file: it ends with the process that holds it, however that ends, and all
judges of one machine keep to it. Inside a grading ``grader.gpu`` keeps timing apart from the rest.
"""

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from grader.errors import CannotGrade

VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_gpus() -> tuple[str, ...]:
    """Name the GPUs that may be used: those of CUDA_VISIBLE_DEVICES, else all of the machine."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        return tuple(filter(None, (name.strip() for name in chosen.split(","))))
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except FileNotFoundError:
        return ("0",)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotGrade("the GPUs cannot be listed", str(error)[:200]) from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
        raise CannotGrade(f"the GPUs cannot be listed: {said[-1][:200]}", "look at nvidia-smi")
    return tuple(line.strip() for line in done.stdout.splitlines() if line.strip())


@contextmanager
def leased_gpu() -> Generator[None, None, None]:
    """Wait for the GPU that this process sees, and keep it from other gradings meanwhile."""
    name = os.environ.get(VISIBLE, "0").split(",")[0] or "0"
    path = Path(tempfile.gettempdir()) / f"inferlab.lease{name.replace('/', '_')}.lock"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
