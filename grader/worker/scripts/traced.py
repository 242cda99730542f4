"""Run a file and a call of it, and write down what its kernels touch: for ``lab trace``.

It runs with the rights of whoever asks, as a script of theirs would; nothing is graded by it.
"""

import contextlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from grader.worker.code import faults
from grader.worker.kernels import interpreter


def trace(file: str, call: str) -> dict[str, Any]:
    """Load a file and evaluate a call with its names, and torch; "" calls nothing.

    An exception ends the record and stands in it, with the lines of the file that led to it.
    """
    from grader.worker.scripts.tracer import Tracer

    torch.manual_seed(0)
    torch.set_num_threads(1)
    tracer, fault = Tracer(), None
    try:
        module = _loaded(file)
        if call.strip():
            exec(compile(call, "<example>", "exec"), {"torch": torch, **vars(module)})
    except Exception as error:
        fault = {**faults.describe(error, file), "program": tracer.program}
    return {**tracer.stop(), "fault": fault}


def _loaded(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Trace the file named first with the call named second, and write the third."""
    file, call, out = sys.argv[1:]
    interpreter.prepare("cpu")
    with contextlib.redirect_stdout(sys.stderr):  # what kernels print is no part of our answer
        record = trace(file, call)
    Path(out).write_text(json.dumps(record), encoding="utf-8")


if __name__ == "__main__":
    main()
