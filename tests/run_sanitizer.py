"""Print what the sanitizer finds in each kernel of tests/kernels, and what it costs.

``run_sanitizer.py [right|wrong] [--json]``: the kernel, what is expected and what was found,
seconds of the plain launch and with the sanitizer, and how many times as long. Exit code 1 where
something is missed or found too much. With ``--json`` right kernels run in three
orders, and a line for each run says what came of it.
"""

import contextlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch
from stand_ins.kernel_cases import Case, Place, cases
from triton.runtime.errors import InterpreterError

from grader.worker import interpreter
from grader.worker.sanitizer import sanitized

SAFE = {"write-write", "read-write", "masked", "too large"}  # others may end the process, or never
ORDERS = ("", "reversed", "shuffled")


def loaded(case: Case) -> Callable[[], Any]:
    """Return a case as a function; its file is loaded once."""
    name = f"kernels_{case.file.parent.name}_{case.file.stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, case.file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return getattr(sys.modules[name], case.function)


def found(case: Case, order: str) -> tuple[frozenset[Place], Any]:
    """Run a case under the sanitizer; return where it found what, and what the case returned."""
    waits = any(kind == "waits" for kind, _ in case.expected)  # ended by an exception
    torch.manual_seed(5)
    result = None
    with sanitized(order, seed=3) as reading:
        with contextlib.suppress(InterpreterError) if waits else contextlib.nullcontext():
            result = loaded(case)()
    return frozenset((item["kind"], item["line"]) for item in reading["findings"]), result


def seconds(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, the least of two."""
    taken: list[float] = []
    for _ in range(2):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)


def row(case: Case) -> tuple[bool, float, float]:
    """Print the row of a case; return whether it is as expected, and its seconds."""
    places, _ = found(case, case.order)
    right = places == case.expected
    under = seconds(lambda: found(case, case.order))
    safe = {kind for kind, _ in case.expected} <= SAFE
    plain = seconds(loaded(case)) if safe else 0.0
    costs = (
        f"{plain:7.3f} {under:7.3f} {under / plain:5.2f}" if safe else f"      - {under:7.3f}     -"
    )
    texts = [_listed(case.expected), "as expected" if right else _listed(places)]
    print(f"{case.name:46} {texts[0]:45} {texts[1]:12} {costs}", flush=True)
    return right, plain, under if safe else 0.0


def _listed(places: frozenset[Place]) -> str:
    ordered = sorted(places, key=lambda place: (place[1], place[0]))
    return ", ".join(f"{kind} {line}" for kind, line in ordered) or "nothing"


def as_json(case: Case) -> None:
    """Print what came of a case in each order that is asked for."""
    for order in ORDERS if case.file.parent.name == "right" else (case.order,):
        places, result = found(case, order)
        wrong = ""
        if not case.expected:
            try:
                torch.testing.assert_close(*result, check_dtype=False, rtol=1e-3, atol=1e-4)
            except AssertionError as error:
                wrong = str(error)
        print(
            json.dumps({"name": case.name, "order": order, "found": sorted(places), "wrong": wrong})
        )


def main(words: list[str]) -> int:
    """Print a table of each folder."""
    interpreter.prepare("cpu")
    torch.set_num_threads(1)
    every = True
    for folder in [word for word in words if word != "--json"] or ["right", "wrong"]:
        if "--json" in words:
            for case in cases(folder):
                as_json(case)
            continue
        rows = [row(case) for case in cases(folder)]
        plain, under = sum(r[1] for r in rows), sum(r[2] for r in rows)
        right = sum(r[0] for r in rows)
        every &= right == len(rows)
        print(
            f"{folder}: {right} of {len(rows)} as expected; where both ran, {plain:.2f} s plain, "
            f"{under:.2f} s with the sanitizer, {under / plain:.2f} times\n"
        )
    return 0 if every else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
