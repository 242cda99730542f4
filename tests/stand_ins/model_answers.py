"""Model answers as modules, for tests that put them in the place of a student's work."""

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"


@functools.cache
def solution(number: int) -> ModuleType:
    folder = next(SOLUTIONS.glob(f"{number:02}_*"))
    spec = importlib.util.spec_from_file_location(
        f"answer_{folder.name}", folder / f"{folder.name[3:]}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
