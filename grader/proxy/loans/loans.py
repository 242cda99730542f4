"""Objects of the judge that a submission may use: which names of them, and for how long."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from grader.errors import Mismatch
from grader.proxy.loans.budget import is_out_of_memory
from grader.wire.errors import WireError

MAX_NAME = 200
MAX_REFUSAL = 2000  # characters; it may quote what the submission sent
# What an object of ours raises when an argument is of the wrong kind or makes no sense.
UNFIT = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError)


class Refusal(Exception):
    """Raised by an object of the judge to hand an exception to the submission on purpose."""

    def __init__(self, error: ValueError | IndexError | TypeError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True, eq=False)
class Loan:
    """An object of the judge that the submission may use, by these names only.

    If ``steady``, its attributes are numbers that change in its own methods alone.
    """

    target: Any
    methods: tuple[str, ...]
    attributes: tuple[str, ...]
    keep: bool
    steady: bool = False


class Loans:
    """What is lent now. A loan ends with the call that it was made for, unless it is to be kept."""

    def __init__(self) -> None:
        self._lent: dict[int, tuple[int, Loan]] = {}  # number -> (depth of its call, object)
        self._count = 0

    def __len__(self) -> int:
        """Return how many objects are lent."""
        return len(self._lent)

    def lend(self, lent: Loan, depth: int) -> int:
        """Return the number by which the submission may name the object."""
        for number, (_, known) in self._lent.items():
            if known is lent:
                return number
        self._count += 1
        self._lent[self._count] = (depth, lent)
        return self._count

    def lent(self, number: int) -> Loan | None:
        """Return the object that is lent under a number."""
        return self._lent[number][1] if number in self._lent else None

    def end_deeper(self, depth: int) -> None:
        """End the loans of calls that are over."""
        self._lent = {n: (d, o) for n, (d, o) in self._lent.items() if o.keep or d <= depth}

    def clear(self) -> None:
        """End every loan."""
        self._lent.clear()

    def told_with_an_answer(self, number: int) -> dict[str, int]:
        """Return the attributes of a steady object: until it is called again nobody need ask."""
        lent = self._lent[number][1]
        return {name: getattr(lent.target, name) for name in lent.attributes if lent.steady}

    def use(self, number: int, name: str, value: Any) -> Any:
        """Get an attribute (``value`` None) or call a method with ``value`` as (args, kwargs).

        Raises Refusal for what is not lent, and Mismatch for arguments that make no sense.
        """
        if number not in self._lent:
            raise Refusal(
                ValueError("this object may be used only during the call it was passed to")
            )
        lent = self._lent[number][1]
        if value is None and name in lent.attributes:
            return getattr(lent.target, name)
        if name not in lent.methods or not isinstance(value, tuple):
            raise Refusal(TypeError(f"this object has no {name[:MAX_NAME]}"))
        match cast(tuple[Any, ...], value):
            case (tuple() as args, dict() as kwargs):
                function = lent.target if name == "__call__" else getattr(lent.target, name)
                return _called(function, args, kwargs)
            case _:
                raise WireError("a malformed question")


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of ours with arguments that the submission chose; they may be anything."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        raise Refusal(error) from None
    try:
        return function(*args, **kwargs)
    except UNFIT as error:
        if is_out_of_memory(error):
            raise MemoryError from None
        # With right answers no test gets here: the argument is the fault, not our function.
        kind = type(error).__name__
        raise Mismatch(f"a lent object was given an argument it cannot take ({kind})") from error
