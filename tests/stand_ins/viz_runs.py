"""Run the kernels of ``kernel_cases`` under the sanitizer of triton-viz, a line of JSON each.

``PYTHON viz_runs.py FOLDER…``, by a Python that has triton-viz and need not have ours. Kernels are
wrapped as by its command ``triton-sanitizer``, but an alarm does not end the process. Each case has
a process of its own, forked when all is imported, and some seconds: a loop until an atomic returns
something has no end where loads are symbols.
"""

import contextlib
import importlib.util
import io
import json
import multiprocessing
import sys
import time
from typing import Any

import torch
import triton
import triton.runtime.interpreter
import triton_viz  # not ours: whoever runs this has it
from stand_ins.kernel_cases import Case, cases
from triton_viz.clients import Sanitizer
from triton_viz.wrapper import (
    create_patched_autotune,
    create_patched_jit,
)

PATIENCE = 10
MOST = 150  # characters of why it gave up
clients: list[Any] = []


def watched(kernel: Any) -> Any:
    """Wrap a kernel, in a process that runs one case."""
    clients.append(Sanitizer(abort_on_error=False))
    return triton_viz.trace(client=clients[-1])(kernel)


def run(case: Case, answers: Any) -> None:
    """Send whether a case raised an alarm, why it gave up if it did, and its seconds."""
    torch.set_num_threads(1)
    torch.manual_seed(5)
    given = [] if case.answer is None else [case.answer]
    said, start = "", time.process_time()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            function, *modules = (_loaded(file) for file in (case.file, *given))
            start = time.process_time()
            getattr(function, case.function)(*modules)
    except BaseException as error:  # of its own making, SystemExit too
        said = f"{type(error).__name__}: {error}"[:MOST]
    taken = time.process_time() - start
    answers.send((any(client.records for client in clients), said, taken))


def _loaded(file: Any) -> Any:
    spec = importlib.util.spec_from_file_location(f"kernels_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def heard(case: Case) -> tuple[bool, str, float]:
    """Run a case in a fork of this process."""
    context = multiprocessing.get_context("fork")
    mine, its = context.Pipe(duplex=False)
    child = context.Process(target=run, args=(case, its))
    child.start()
    its.close()
    try:
        return mine.recv() if mine.poll(PATIENCE) else (False, f"runs for {PATIENCE} s", PATIENCE)
    except EOFError:
        return False, "the process ended", 0.0
    finally:
        child.kill()
        child.join()


def main(folders: list[str]) -> None:
    """Print a line for each case."""
    triton.jit = create_patched_jit(watched)
    triton.language.jit = triton.jit
    triton.runtime.interpreter.jit = triton.jit
    triton.autotune = create_patched_autotune(watched)
    for folder in folders:
        for case in cases(folder):
            alarm, says, seconds = heard(case)
            line = {"name": case.name, "alarm": alarm, "says": says, "seconds": seconds}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
