"""The GPU of a grading: its state, whether it is fit to grade on, its lease, and who sees it.

All of it without CUDA: a command line that asks takes no memory of the GPU.
"""

import functools
import os
import re
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.environment import VISIBLE, To, crossing
from grader.errors import CannotGrade
from grader.locks import Turns
from grader.sandbox.confinement import limits

FIELDS = {
    "name": "name",
    "driver": "driver_version",
    "sm_clock_mhz": "clocks.sm",
    "sm_clock_max_mhz": "clocks.max.sm",
    "memory_clock_mhz": "clocks.mem",
    "temperature_c": "temperature.gpu",
    "power_w": "power.draw",
    "free_mb": "memory.free",
    "total_mb": "memory.total",
}
DEVICES = Path("/dev")
DRIVER = Path("/proc/driver/nvidia/gpus")
PATIENCE_SECONDS = 30.0
LEAST_FREE = 0.4  # share of the memory that must be free, where no worker of ours holds any


def _index() -> str:
    return os.environ.get(VISIBLE, "0").split(",")[0] or "0"


def ask(*arguments: str, failure: str) -> list[str] | None:
    """Return nvidia-smi's answer, line by line; None where there is no such program.

    Raises CannotGrade that begins with ``failure``.
    """
    command = ["nvidia-smi", *arguments]
    try:
        done = subprocess.run(
            command,
            env=crossing(To.TOOL),
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except FileNotFoundError:
        return None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotGrade(failure, str(error)[:200]) from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
        raise CannotGrade(f"{failure}: {said[-1][:200]}", "look at nvidia-smi")
    return done.stdout.strip().splitlines()


def _query(query: str) -> list[str]:
    arguments = ("-i", _index(), query, "--format=csv,noheader,nounits")
    return ask(*arguments, failure="the GPU does not answer") or []


def lock_name(kind: str) -> str:
    """Name the lock of that kind for the GPU that this process sees; one for all of a machine."""
    return f"{kind}{_index().replace('/', '_')}"


def visible() -> list[str]:
    """Return the names in CUDA_VISIBLE_DEVICES: indices or UUIDs."""
    return [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]


def chosen() -> list[str] | None:
    """Return the UUIDs of the GPUs in CUDA_VISIBLE_DEVICES; None if it names none, or unknown ones.

    A UUID means the same GPU whichever others a process sees; an index does not.
    """
    names = visible()
    try:
        known = _uuids() if names else {}
    except CannotGrade:  # of a lost GPU others tell
        return None
    found = [known.get(name, name) for name in names]
    return found if found and set(found) <= set(known.values()) else None


def device_nodes() -> list[Path]:
    """Return the device nodes that a worker needs: of the chosen GPUs, and all of the driver."""
    nodes = sorted(DEVICES.glob("nvidia*"))
    uuids = chosen()
    if uuids is None:
        return nodes
    told = [path.read_text() for path in DRIVER.glob("*/information")]
    ours = [text for text in told if any(uuid in text for uuid in uuids)]
    numbers = {found for text in ours for found in re.findall(r"Device Minor:\s*(\d+)", text)}
    if len(numbers) < len(uuids):
        return nodes
    return [node for node in nodes if not (own := _number_of(node)) or own in numbers]


def count() -> int:
    """Return how many GPUs a worker would see."""
    if os.environ.get(VISIBLE) in ("", "-1"):
        return 0
    numbered = sum(bool(_number_of(node)) for node in device_nodes())
    return numbered or int((DEVICES / "dxg").exists())  # Windows shows all of its own as one


def _number_of(node: Path) -> str:
    found = re.fullmatch(r"nvidia(\d+)", node.name)
    return found[1] if found else ""


def architecture() -> str:
    """Name what a compiler for CUDA builds for, such as "sm_90"; "" where nobody says."""
    told = _query("--query-gpu=compute_cap")
    found = re.fullmatch(r"(\d+)\.(\d+)", told[0].strip()) if told else None
    return f"sm_{found[1]}{found[2]}" if found else ""


@functools.cache
def _uuids() -> dict[str, str]:
    """Return the UUID of each GPU of the machine, by its index."""
    lines = ask("--query-gpu=index,uuid", "--format=csv,noheader", failure="no list of the GPUs")
    pairs = (line.split(",") for line in lines or [])
    return {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}


def read_state() -> dict[str, Any]:
    """Return name, driver, clocks, memory and the others' processes; {} if nobody can tell."""
    lines = _query(f"--query-gpu={','.join(FIELDS.values())}")
    if not lines:
        return {}
    values = [_number(text.strip()) for text in lines[0].split(",")]
    state: dict[str, Any] = dict(zip(FIELDS, values, strict=False))
    own = {os.getpid(), *limits.descendants(os.getpid())}
    pids = {_number(line.strip()) for line in _query("--query-compute-apps=pid")}
    state["others"] = len(pids - own)
    free = state.get("free_mb")
    state["free_gb"] = round(free / 1024, 1) if isinstance(free, float) else None
    return state


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return None if text.startswith("[") else text


def trouble() -> str:
    """Say why nobody can be graded on this GPU, or return an empty string.

    Asked while no worker of ours holds much of its memory.
    """
    try:
        state = read_state()
    except CannotGrade as error:
        return error.message
    free, total = state.get("free_mb"), state.get("total_mb")
    if isinstance(free, float) and isinstance(total, float) and free < LEAST_FREE * total:
        return f"other programs hold the GPU's memory: {free:.0f} of {total:.0f} MiB are free"
    return ""


def lease() -> Turns:
    """Return a place on the GPU: alone, or beside others that are not alone.

    All judges of one machine keep to it, so that nothing is timed beside another grading.
    """
    return Turns(lock_name("gpu"))


@contextmanager
def leased(*, alone: bool) -> Generator[float, None, None]:
    """Hold a place on the GPU; gives the seconds of waiting for it."""
    place = lease()
    try:
        yield place.take(alone=alone)
    finally:
        place.close()


def lasting_trouble(*, patient: bool = True) -> str:
    """Return what is wrong with the GPU for longer than a moment, or an empty string.

    Who has waited in vain need not be ``patient`` again.
    """
    deadline = time.monotonic() + (PATIENCE_SECONDS if patient else 0.0)
    while (problem := trouble()) and time.monotonic() < deadline:
        time.sleep(2.0)
    return problem


def trouble_at_rest() -> str:
    """Return what is wrong with the GPU while nothing is timed: races hold much of its memory."""
    with leased(alone=False):
        return lasting_trouble()


def assert_fit() -> None:
    """Raise CannotGrade if the GPU is lost or its memory taken."""
    problem = trouble_at_rest()
    if problem:
        raise CannotGrade(problem, "free the GPU, or grade with --device cpu")
