"""The run itself: check every peer of a case, time those that are right, go on to the next."""

import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from bench.kernels import attention, layernorm, quantized
from bench.kernels.case import Case, Slot, disagreement, load
from bench.kernels.device import EventTimer, slots_of
from bench.kernels.lines import Line, lines_of
from bench.kernels.rounds import Timer, run_rounds
from bench.page import command
from grader.errors import CannotGrade, UsageError
from grader.labs.lab import all_labs, find_root
from grader.sandbox.confinement.gpu import leased, read_state
from grader.text import first_line

MODULES = {module.LAB: module for module in (layernorm, attention, quantized)}
PROBLEM = 120  # characters


def need_gpu() -> None:
    """Raise CannotGrade where kernels cannot be timed: no GPU, or Triton's interpreter."""
    if not torch.cuda.is_available():
        raise CannotGrade(
            "kernels are timed on a GPU, and torch sees none here",
            "run it on a machine with a GPU and a CUDA build of torch; lab doctor looks for both",
        )
    if os.environ.get("TRITON_INTERPRET", "0") not in ("", "0"):
        raise CannotGrade("TRITON_INTERPRET is set: kernels would be interpreted", "unset it")


def check_labs(labs: Sequence[int]) -> None:
    """Raise UsageError for a lab that has no kernels to time."""
    unknown = [lab for lab in labs if lab not in MODULES]
    if unknown:
        known = ", ".join(map(str, MODULES))
        raise UsageError(f"lab {unknown[0]} has no kernels to time", f"labs {known} have")


def run_kernels(labs: Sequence[int], rounds: int, on_case: Callable[[str], None]) -> Iterator[Line]:
    """Yield the lines of every case of the labs (all with a benchmark if none are named)."""
    generator = torch.Generator("cuda").manual_seed(torch.seed() & 0x7FFFFFFF)
    with leased(alone=True):
        timer = EventTimer()
        for case in all_cases(labs or tuple(MODULES)):
            on_case(f"{case.kernel}, {case.name}")
            yield from measure(case, partial(slots_of, case, generator), timer, rounds)


def all_cases(labs: Sequence[int]) -> Iterator[Case]:
    """Yield the cases of the labs, with our answers loaded by their paths."""
    found = {lab.number: lab for lab in all_labs(find_root())}
    for number in labs:
        if number not in found or not found[number].solutions.is_dir():
            raise UsageError(
                f"lab {number} has no solutions to time", "use the instructors' repository"
            )
        lab = found[number]
        files = (lab.solutions / lab.code_name, lab.solutions / "variants" / "simple.py")
        # Triton looks its kernels' sources up by module, so the two must not share a name.
        answers = [load(file, f"bench_{number}_{kind}") for kind, file in enumerate(files)]
        yield from MODULES[number].cases(*answers)


def measure(
    case: Case, refill: Callable[[], Sequence[Slot]], timer: Timer, rounds: int
) -> list[Line]:
    """Check the peers of a case on fresh inputs, then time those that are right."""
    problems = _problems(case, refill()[0])
    calls: dict[str, Callable[[Slot], Any]] = {
        peer.name: peer.call
        for peer in case.peers
        if peer.call is not None and not problems[peer.name]
    }
    return lines_of(case, run_rounds(calls, refill, timer, rounds), problems)


def _problems(case: Case, slot: Slot) -> dict[str, str]:
    expected = case.trusted(slot)
    problems: dict[str, str] = {}
    for peer in case.peers:
        problems[peer.name] = peer.missing
        if peer.call is None:
            continue
        try:
            wrong = disagreement(case, peer, slot, expected)
            problems[peer.name] = wrong and f"wrong, not timed: {wrong}"
        except Exception as error:  # another's code, which may not know this size or this GPU
            problems[peer.name] = f"cannot: {type(error).__name__}: {_told(error)}"
    return problems


def _told(error: Exception) -> str:
    """The first line of a message, and the last: a compiler begins with the place."""
    lines = [line for line in str(error).splitlines() if line.strip()] or ["no message"]
    ends = (lines[0], lines[-1]) if len(lines) > 1 else (lines[0],)
    return " … ".join(first_line(line, PROBLEM) for line in ends)


def machine() -> dict[str, str]:
    """When and on what this ran: date, GPU, driver, versions, command."""
    state = read_state()
    clock = state.get("sm_clock_max_mhz")
    cudnn = torch.backends.cudnn.version()
    return {
        "date": datetime.now().astimezone().strftime("%Y-%m-%d"),
        "GPU": torch.cuda.get_device_name(),
        "driver": str(state.get("driver") or "unknown"),
        "clock": f"up to {clock:.0f} MHz" if isinstance(clock, float) else "unknown",
        "CUDA": str(torch.version.cuda),
        "cuDNN": str(cudnn) if cudnn else "none",
        "Python": platform.python_version(),
        "torch": torch.__version__,
        "triton": _version("triton"),
        "Liger-Kernel": _version("liger-kernel"),
        "torchao": _version("torchao"),
        "command": command(sys.argv[1:]),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        found = importlib.util.find_spec(package.replace("-", "_"))
        return "of unknown version" if found else "not installed"
