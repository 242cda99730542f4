"""Run the cases in this process, and write down a line for each as it ends.

``python -m language.tried own|ours OUT [FROM]``: in Triton's own interpreter or in the worker's,
from a case on. Where a case ends the process, whoever started it goes on with the next.
"""

import contextlib
import importlib.util
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from grader.worker.code import faults
from grader.worker.kernels import interpreter
from language import blocks, elementwise, flow, memory, products
from language.case import Case

CASES: list[Case] = [
    case for module in (elementwise, blocks, products, memory, flow) for case in module.cases()
]
HEAD = "import triton\nimport triton.language as tl\n"


def kernels(place: Path, cases: list[Case]) -> list[Any]:
    """Write the kernels into one file, since Triton reads their source, and load it."""
    file = place / "tried_kernels.py"
    parts = dict.fromkeys(case.before for case in cases if case.before)
    bare = [case.source(f"kernel_{n}").removeprefix(case.before) for n, case in enumerate(cases)]
    file.write_text("\n\n".join([HEAD, *parts, *bare]), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"kernel_{number}") for number in range(len(cases))]


def outcome(case: Case, kernel: Callable[..., Any], device: str) -> dict[str, str]:
    """Launch a case; say "right", "wrong" with how, or "raises" with what."""
    ins = [value.clone().to(device) for value in case.ins] or [torch.zeros(1, device=device)]
    x, y, z = (ins[min(number, len(ins) - 1)] for number in range(3))
    out = torch.full(case.want.shape, case.start, device=device).to(case.want.dtype)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernel[case.grid](x, y, z, out)
    except Exception as error:
        last = faults.in_kernel(error)[-1]
        return {"is": "raises", "says": f"{type(last).__name__}: {_first_line(str(last))}"}
    wrong = case.fails(out.cpu())
    if not wrong and case.prints not in printed.getvalue():
        wrong = "prints nothing of it"
    return {"is": "wrong", "says": wrong} if wrong else {"is": "right", "says": ""}


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:160]


def main(words: list[str]) -> None:
    """Run the cases from a number on."""
    which, out, *first = words
    device = "cuda" if which == "gpu" else "cpu"
    if which == "ours":
        interpreter.prepare("cpu")
    torch.set_num_threads(1)
    start = int(first[0]) if first else 0
    with tempfile.TemporaryDirectory(prefix="inferlab-tried-") as place:
        sys.path.insert(0, place)
        launched = kernels(Path(place), CASES)
        with Path(out).open("a", encoding="utf-8") as file:
            for number, case in enumerate(CASES[start:], start):
                row = {"case": number, **outcome(case, launched[number], device)}
                file.write(json.dumps(row) + "\n")
                file.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
