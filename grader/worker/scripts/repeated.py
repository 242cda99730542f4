"""What a script of ``make repeat`` has beside the code that it calls: nothing of it judges."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

OTHERWISE = (
    "the code asks {} for something else than when this script was written: make repeat writes it "
    "anew, unless the code draws at random without a generator"
)


def begin(device: str) -> None:
    """Prepare Triton as a worker has it, unless ``make python`` has done that."""
    prepared = "grader.worker.kernels.interpreter" in sys.modules
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    # Imported here: it is how we tell whether somebody was here before.
    from grader.worker.kernels import interpreter

    if not prepared:
        interpreter.prepare(device)


@dataclass(frozen=True, slots=True)
class Does:
    """An answer that an object of a test had to ask for itself, of the code that used it."""

    ask: Callable[..., Any]


class OfTheTest:
    """Stands for an object of a test: it gives the answers that were given, in their order.

    ``uses`` has for each call its method, arguments, answer and the attributes behind it. An
    exception is raised, and what ``Does`` something does it.
    """

    def __init__(self, name: str, attributes: dict[str, Any], uses: list[tuple[Any, ...]]) -> None:
        vars(self).update(attributes)
        self._name = name
        self._uses = iter(uses)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._use("__call__", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self._use(name, args, kwargs)

    def _use(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        method, given, answer, attributes = next(self._uses, ("", (), None, {}))
        if method != name or not alike(given, (args, kwargs)):
            raise LookupError(OTHERWISE.format(self._name))
        if isinstance(answer, Does):
            answer = answer.ask(*args, **kwargs)
        vars(self).update(attributes)
        if isinstance(answer, Exception):
            raise answer
        return answer


def alike(one: Any, other: Any) -> bool:
    """Tell whether two values are the same, but for rounding; of objects we know nothing."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        same = one.shape == other.shape and one.dtype == other.dtype
        rounds = one.is_floating_point() or one.is_complex()
        return bool(same and (rounds or torch.equal(one.cpu(), other.cpu())))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    plain = isinstance(one, int | str) and isinstance(other, int | str)
    return not plain or bool(one == other)
