"""Cases of ``kernel_cases`` run under the sanitizer, and against the clock."""

import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from stand_ins.kernel_cases import ORDERS, Case, Place
from triton.runtime.errors import InterpreterError

from grader.worker.sanitizer.grids import Refused
from grader.worker.sanitizer.races import AGAIN
from grader.worker.sanitizer.sanitizer import sanitized

SAFE = {"write-write", "same value", "read-write", "masked", "too large", "order"}
ENDED = (InterpreterError, Refused)  # by which a launch says that it cannot go on
TIMES = 3
ENOUGH = 0.3  # seconds, after which a call is not made again
NEAR = {"check_dtype": False, "rtol": 1e-3, "atol": 1e-4}


def loaded(case: Case) -> Callable[[], Any]:
    """Return a case as a function; its file is loaded once."""
    function = getattr(_module(case.file), case.function)
    return function if case.answer is None else partial(function, _module(case.answer))


def _module(file: Path) -> ModuleType:
    name = f"kernels_{file.parent.parent.name}_{file.parent.name}_{file.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def found(case: Case, order: str) -> tuple[frozenset[Place], Any]:
    """Run a case under the sanitizer; return where it found what, and what the case returned."""
    ended = any(kind in ("waits", "grid") for kind, _ in case.expected)  # by an exception
    torch.manual_seed(5)
    result = None
    with sanitized(order, seed=3) as reading:
        with contextlib.suppress(*ENDED) if ended else contextlib.nullcontext():
            result = loaded(case)()
    places = frozenset((_kind(item), item["line"]) for item in reading["findings"])
    return places, result


def _kind(item: dict[str, Any]) -> str:
    return "same value" if item["text"].endswith(AGAIN) else item["kind"]


def judged(case: Case) -> frozenset[Place]:
    """Return what is found in a case; where that is nothing, whether orders differ in the result.

    A case says so by a mark at its function, so that is the place that is returned.
    """
    places, result = found(case, case.order)
    marked = [line for kind, line in case.expected if kind == "order"]
    if places or not marked:
        return places
    others = [found(case, order)[1] for order in ORDERS if order != case.order]
    same = all(wrong(result, other) == "" for other in others)
    return frozenset() if same else frozenset([("order", marked[0])])


def wrong(got: Any, want: Any) -> str:
    """Return how two results differ by more than rounding, or ""."""
    try:
        torch.testing.assert_close(got, want, **NEAR)
    except AssertionError as error:
        return str(error)
    return ""


def seconds(case: Case) -> tuple[float | None, float]:
    """Return the processor time of a case, plain and under the sanitizer: the least of a few.

    Plainly, kernels that leave their tensors may end the process, or never end.
    """
    call = loaded(case)
    plain = least(call) if {kind for kind, _ in case.expected} <= SAFE else None
    with contextlib.suppress(*ENDED), sanitized(case.order, seed=3):
        return plain, least(call)
    return plain, least(lambda: found(case, case.order))


def least(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, the least of ``TIMES``, or of fewer that take long."""
    taken: list[float] = []
    while len(taken) < TIMES and sum(taken) < ENOUGH:
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)
