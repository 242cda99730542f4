"""Objects that stay in the process that has them: a number and names cross the wire in their place.

``Kept`` holds the submission's, ``Stub`` stands for one of the judge's.
"""

import inspect
from collections.abc import Callable
from typing import Any

MAX_METHODS = 200


class Kept:
    """The submission's objects, by number; kept for as long as the worker lives."""

    __slots__ = ("_handles", "_objects")

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        self._handles: dict[int, Any] = {}  # by id, which an object that is kept does not give up

    def __getitem__(self, number: int) -> Any:
        return self._objects[number]

    def handle(self, value: Any, kind: str) -> Any:
        """Return what the judge gets for an object, the same each time."""
        if id(value) not in self._handles:
            number = len(self._objects) + 1
            self._objects[number] = value
            self._handles[id(value)] = {"h": [number, kind[:100], methods_of(value)]}
        return self._handles[id(value)]


class Stub:
    """What the submission sees of an object that lives with the judge."""

    def __init__(
        self, ask: Callable[..., Any], number: int, methods: list[str], attributes: list[str]
    ) -> None:
        vars(self).update(_ask=ask, _number=number, _methods=methods, _attributes=attributes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask(self._number, "__call__", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in self._methods:
            return lambda *args, **kwargs: self._ask(self._number, name, args, kwargs)
        if name in self._attributes:
            return self._ask(self._number, name, None, {})
        raise AttributeError(f"the object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"the attribute {name!r} cannot be set")


def methods_of(value: Any) -> list[str]:
    """Return the names that the judge may call on an object, looked up without running its code."""
    names = [name for name in dir(type(value)) if not name.startswith("_")]
    if callable(value):
        names.insert(0, "__call__")
    static = ((name, inspect.getattr_static(type(value), name, None)) for name in names)
    return [name for name, member in static if callable(getattr(member, "__func__", member))][
        :MAX_METHODS
    ]
