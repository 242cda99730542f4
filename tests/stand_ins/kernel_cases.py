"""The kernels on which the sanitizer is proven: ``tests/kernels/right`` and ``tests/kernels/wrong``.

A case is a function whose name has no underscore in front. A line that ends in ``# finds: kind,
kind`` is where these are to be found, in each case whose function names the kernel; ``# finds
reversed:`` with its programs in the other order.
"""

import ast
import contextlib
import importlib.util
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch

from grader.worker import interpreter
from grader.worker.sanitizer import sanitized

KERNELS = Path(__file__).parent.parent / "kernels"
FINDS = re.compile(r"# finds( reversed)?: (.*)")
Place = tuple[str, int]  # a kind, and its line


@dataclass(frozen=True, slots=True)
class Case:
    """A launch, and what is to be found in it."""

    name: str
    run: Callable[[], Any]
    expected: frozenset[Place]
    order: str  # of the programs


def cases(folder: str) -> Iterator[Case]:
    """Walk through the cases of ``right`` or ``wrong``."""
    interpreter.prepare("cpu")
    for file in sorted((KERNELS / folder).glob("*.py")):
        module = _loaded(file)
        for function, expected, order in _functions(file):
            yield Case(f"{file.stem}.{function}", getattr(module, function), expected, order)


def _loaded(file: Path) -> ModuleType:
    name = f"kernels_{file.parent.name}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _functions(file: Path) -> Iterator[tuple[str, frozenset[Place], str]]:
    """Walk through the cases of a file, with the marks of the kernels that each launches."""
    text = file.read_text()
    lines = text.splitlines()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    marks = {node.name: _marks(lines, node) for node in functions}
    for node in functions:
        if not node.name.startswith("_"):
            names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
            found = [place for name in names if name in marks for place in marks[name]]
            kernels = [item for item in functions if item.name in names]
            texts = [ast.get_source_segment(text, item) or "" for item in kernels]
            order = "reversed" if "# finds reversed:" in "".join(texts) else ""
            yield node.name, frozenset(found), order


def _marks(lines: list[str], node: ast.FunctionDef) -> list[Place]:
    found: list[Place] = []
    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        if match := FINDS.search(lines[number - 1]):
            found += [(kind, number) for kind in match[2].split(", ")]
    return found


def found(case: Case) -> tuple[frozenset[Place], list[Any]]:
    """Run a case under the sanitizer; return what it found, and in full."""
    torch.manual_seed(5)
    with sanitized(case.order) as reading, contextlib.suppress(Exception):  # a loop that waits is ended
        case.run()
    findings = reading["findings"]
    return frozenset((item["kind"], item["line"]) for item in findings), findings


def seconds(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, the least of two."""
    taken: list[float] = []
    for _ in range(2):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return min(taken)
