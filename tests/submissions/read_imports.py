"""Imports the judge's own modules; it answers rightly only if there are none.

Expect:
    scale: passed
    score: 95
"""

import importlib
import math
import sys

HIDDEN = (
    "reference",
    "solutions",
    "tests",
    "grader.suites",
    "grader.suites.test_90_echo",
    "grader.compare",
    "grader.plugin",
    "grader.grade",
    "grader.sandbox",
    "grader.student",
    "labs.echo",
    "conftest",
)


def scale(x, factor):
    for name in HIDDEN:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
        raise RuntimeError(f"{name} can be imported")
    if {"grader.compare", "pytest"} & set(sys.modules):
        raise RuntimeError("the judge is in here")
    if not math.isfinite(factor):
        raise ValueError("factor must be finite")
    return (x.float() * factor).to(x.dtype)
