"""Triton in a worker: imported before the submission, and mended where its interpreter is wrong.

Mended, so that a kernel that is right on a GPU is right here: bf16 (see ``bf16``); ``autotune``,
which wants a GPU to time on; a grid given as a list; Python's ``min`` and ``max`` of blocks, which
took one operand for all lanes; numpy's warnings about lanes that a mask hides; in Triton 3.6 with a
recent numpy, loops to a bound that is an argument. ``docs/triton-interpreter.md`` lists what is
still different.
"""

import builtins
import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader import bf16


def prepare(device: str) -> None:
    """Import Triton, so that no submission waits for it; "cpu" means its interpreter."""
    importlib.import_module("triton.language")
    if device == "cpu":
        mend()
    else:
        # Builds Triton's own part of the driver, which each worker's empty cache lacks.
        importlib.import_module("triton.runtime").driver.active.utils  # noqa: B018


def mend() -> None:
    """Patch the interpreter's classes, once for all kernels of the process."""
    interpreter: Any = importlib.import_module("triton.runtime.interpreter")
    tl: Any = importlib.import_module("triton.language")
    bf16.Mend().apply()
    # Nothing can be timed here: every configuration is as good as the first.
    tuner: Any = importlib.import_module("triton.runtime.autotuner").Autotuner
    tuner._bench = lambda *_args, **_kwargs: [0.0, 0.0, 0.0]
    executor = interpreter.GridExecutor
    executor.__init__ = _with_tuple_grid(executor.__init__)
    executor.__call__ = _unobserved(executor.__call__)
    interpreter._patch_lang_tensor = _with_index(interpreter._patch_lang_tensor)
    # The interpreter gives the names of its module to the kernels.
    interpreter.min = _lanewise("min", "minimum", tl)
    interpreter.max = _lanewise("max", "maximum", tl)
    ours = r"triton\.runtime\.interpreter|grader\.bf16"
    warnings.filterwarnings("ignore", category=RuntimeWarning, module=ours)


def _with_tuple_grid(method: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(method)
    def init(self: Any, fn: Any, names: Any, grid: Any, *rest: Any) -> None:
        if callable(grid):
            method(self, fn, names, lambda meta: tuple(grid(meta)), *rest)  # pyright: ignore
        else:
            method(self, fn, names, tuple(grid), *rest)

    return init


def _unobserved(method: Callable[..., None]) -> Callable[..., None]:
    """Hide what the interpreter does with torch from probes: a launch is not its operators."""

    @functools.wraps(method)
    def launch(*args: Any, **kwargs: Any) -> None:
        with _disable_current_modes():
            method(*args, **kwargs)

    return launch


def _with_index(patch: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def patch_tensor(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    return patch_tensor


def _lanewise(name: str, operation: str, tl: Any) -> Callable[..., Any]:
    """Return ``min`` or ``max`` as compiled kernels have it: of tensors, lane by lane."""
    plain = getattr(builtins, name)

    @functools.wraps(plain)
    def extreme(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not any(isinstance(arg, tl.tensor) for arg in args):
            return plain(*args, **kwargs)
        return functools.reduce(getattr(tl, operation), args)

    return extreme
