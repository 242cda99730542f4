"""Keeps an object from the submission's code: it lives in a frame of a generator, nowhere else.

No attribute leads there but ``gi_frame``, which ``introspection`` hears of, and it answers callers
of our own code alone, that came in by one of the doors: an operator, the interpreter, or the
judge's request. Who rewrites that code gets in.
"""

import sys
from collections.abc import Generator
from types import FrameType
from typing import Any

from grader.worker.hidden.introspection import own_frame

DOORS = frozenset(("Dispatch.__torch_dispatch__", "Worker.answer", "Worker.ask", "Swaps.run"))


class Box:
    """Calls methods of what is inside, and reads its attributes."""

    __slots__ = ("_send",)

    def __init__(self, inside: Any, own: frozenset[int]) -> None:
        """``own`` are the globals of our code, by their ids."""
        keeper = _keep(inside, own)
        next(keeper)
        self._send = keeper.send

    def ask(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Return what a method returns, or raise what it raises."""
        answer, error = self._send((name, args, kwargs))
        if error is not None:
            raise error
        return answer


def _keep(inside: Any, own: frozenset[int]) -> Generator[Any, Any, None]:
    answer, error = None, None
    while True:
        name, args, kwargs = yield answer, error
        answer, error = None, None
        if not came_by_a_door(own_frame(1), own):
            error = PermissionError("numbers that only kernels may see")
        else:
            try:
                answer = getattr(inside, name)(*args, **kwargs)
            except Exception as failure:
                error = failure.with_traceback(None)
        del args, kwargs


def came_by_a_door(frame: FrameType | None, own: frozenset[int]) -> bool:
    """Tell whether frames of our own code, one behind the other, begin with a door."""
    while frame is not None and id(frame.f_globals) in own:
        if frame.f_code.co_qualname in DOORS:
            return True
        frame = frame.f_back
    return False


def own_names(*modules: str) -> frozenset[int]:
    """Return the globals of modules of ours that are loaded, by their ids."""
    found = (sys.modules.get(f"grader.{name}") for name in modules)
    return frozenset(id(vars(module)) for module in found if module is not None)
