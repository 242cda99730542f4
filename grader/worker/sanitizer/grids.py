"""How many programs a GPU takes on each axis of a grid: the interpreter takes any number.

``refuse`` stands in the interpreter for every launch. ``Grids`` looks at launches of which no
program runs: a grid of a hundred thousand programs costs nothing then.
"""

import functools
import importlib
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from grader.worker.code.lines import Lines
from grader.worker.sanitizer.findings import Finding, Findings

MOST = (1 << 31) - 1, 65_535, 65_535  # of CUDA, on any GPU
Method = Callable[..., Any]


class Refused(ValueError):
    """A launch that fails on every GPU."""


class _Skipped(Exception):
    """The grid of a launch is known: nothing else of it is wanted."""


def refused(grid: tuple[int, ...]) -> str:
    """Return why no GPU takes a grid, or an empty string."""
    for axis, (count, most) in enumerate(zip(grid, MOST, strict=False)):
        if count > most:
            return (
                f"The grid {grid} has {count:,} programs on axis {axis}, where a GPU takes "
                f"{most:,} at most: axis 0 takes {MOST[0]:,}, axes 1 and 2 take {MOST[1]:,}."
            )
    return ""


def refusing(method: Method) -> Method:
    """Wrap what tells the interpreter's builder the grid of a launch."""

    @functools.wraps(method)
    def set_grid_dim(builder: Any, *grid: int) -> None:
        if why := refused(grid):
            raise Refused(why)
        method(builder, *grid)

    return set_grid_dim


class Grids:
    """Lets no program of a kernel run, and finds grids that no GPU takes, until it is stopped."""

    def __init__(self) -> None:
        self.found = Findings()
        self._line = Lines().current
        self._stack = ExitStack()
        interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        self._put(interpreter.InterpreterBuilder, "set_grid_dim", self._grid)
        self._put(interpreter.GridExecutor, "__call__", self._launch)

    def _put(self, owner: Any, name: str, wrap: Callable[[Method], Method]) -> None:
        method = getattr(owner, name)
        self._stack.callback(setattr, owner, name, method)
        setattr(owner, name, functools.wraps(method)(wrap(method)))

    def _grid(self, _method: Method) -> Method:
        def set_grid_dim(_builder: Any, *grid: int) -> None:
            if why := refused(grid):
                self.found.add(Finding("grid", self._line(), why))
            raise _Skipped

        return set_grid_dim

    def _launch(self, method: Method) -> Method:
        def call(*args: Any, **kwargs: Any) -> None:
            try:
                method(*args, **kwargs)
            except _Skipped:
                pass

        call.skips = True  # pyright: ignore[reportFunctionMemberAccess]  # the recorder looks
        return call

    def stop(self) -> dict[str, Any]:
        """Let kernels run again, and return what was found, as the sanitizer does."""
        self._stack.close()
        return {"findings": self.found.plain(), "partial": self.found.partial}
