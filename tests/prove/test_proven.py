"""Which code a task's tests can reach: told alike only if nothing in it differs."""

import pytest

from grader.prove.proven import Module

BASE = '''"""An answer."""

import math
from functools import lru_cache

SCALE = 2
OTHER = 3


def helper(x):
    """Scale x."""
    return x * SCALE


def asked(x):
    return helper(x) + math.pi


class Unasked:
    def method(self):
        return OTHER
'''


def same(edited: str, base: str = BASE) -> bool:
    return Module(base.encode()).reached(["asked"]) == Module(edited.encode()).reached(["asked"])


ALIKE = {
    "a comment": ("return x * SCALE", "return x * SCALE  # twice"),
    "docstrings": ('"""Scale x."""', '"""Scale."""'),
    "the module's docstring": ('"""An answer."""', '"""A wrong answer."""'),
    "layout": ("return x * SCALE", "return (x\n        * SCALE)"),
    "what is not asked for": ("return OTHER", "return -OTHER"),
    "a constant of what is not asked for": ("OTHER = 3", "OTHER = 4"),
    "an import that is not used": ("import lru_cache", "import cache"),
    "a function more": ("class Unasked", "def more():\n    return 1\n\n\nclass Unasked"),
}


@pytest.mark.parametrize(("old", "new"), ALIKE.values(), ids=ALIKE)
def test_what_makes_no_difference(old: str, new: str) -> None:
    assert old in BASE

    assert same(BASE.replace(old, new))


DIFFERENT = {
    "the function": ("+ math.pi", "- math.pi"),
    "its parameters": ("def asked(x)", "def asked(x, y=0)"),
    "a decorator": ("def asked", "@lru_cache\ndef asked"),
    "a helper": ("x * SCALE", "x + SCALE"),
    "a constant of a helper": ("SCALE = 2", "SCALE = 2.5"),
    "a constant that is set again": ("OTHER = 3", "OTHER = 3\nSCALE = 4"),
    "an import under the same name": ("import math", "import cmath as math"),
    "a call while the module is imported": ("OTHER = 3", "OTHER = print(3)"),
    "a statement while the module is imported": ("OTHER = 3", "OTHER = 3\nmath.pi = 3"),
    "a branch": ("OTHER = 3", "OTHER = 3\nif OTHER:\n    SCALE = 4"),
    "a star": ("import lru_cache", "import *"),
    "a docstring alone in place of the body": ("return x * SCALE", "..."),
}


@pytest.mark.parametrize(("old", "new"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_makes_a_difference(old: str, new: str) -> None:
    assert old in BASE

    assert not same(BASE.replace(old, new))


@pytest.mark.parametrize(
    "way",
    [
        "globals()['helper'](x)",
        "sys.modules[__name__].helper(x)",
        "(lambda: helper(x))()",
        "Inner(x).value",
        "table['twice'](x)",
    ],
)
def test_a_helper_is_found_whatever_way_it_is_called(way: str) -> None:
    base = (
        "def helper(x):\n    return x\n\n"
        "table = {'twice': helper}\n\n"
        "class Inner:\n    def __init__(self, x):\n        self.value = helper(x)\n\n"
        f"def asked(x):\n    return {way}\n"
    )

    assert not same(base.replace("return x\n", "return -x\n", 1), base)


def test_the_order_of_definitions_makes_no_difference() -> None:
    first, second = "def helper(x):\n    return x\n", "def asked(x):\n    return helper(x)\n"

    assert same(second + first, first + second)
