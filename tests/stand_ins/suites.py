"""Suites as modules, for what they hold beside their tests."""

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

import pytest


def module_of(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"of_{file.parent.name}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pytest.PytestUnknownMarkWarning)  # the judge's own
        spec.loader.exec_module(module)
    return module
