"""Objects between a test and a submission that runs in this very process, in either direction."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from grader.proxy.loans.loans import Loan, Refusal
from grader.proxy.values.values import Proxy
from grader.wire.objects import methods_of

if TYPE_CHECKING:
    from bench.direct import DirectStudent


class DirectProxy(Proxy):
    """An object of the submission, at hand."""

    __slots__ = ("_owner", "_value")

    def __init__(self, owner: DirectStudent, value: Any) -> None:
        self._owner = owner
        self._value = value
        self.methods_ = methods_of(value)
        self.kind_ = type(value).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._owner.run(self._value, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._value, name)
        if name in self.methods_:
            return lambda *args, **kwargs: self._owner.run(member, args, kwargs)
        return self._owner.outward(member)


class LentCaller:
    """What the submission sees of an object of the test."""

    def __init__(self, owner: DirectStudent, lent: Loan) -> None:
        self._owner = owner
        self._lent = lent

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._use(self._lent.target, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._lent.target, name)
        if name in self._lent.methods:
            return lambda *args, **kwargs: self._use(member, args, kwargs)
        return self._owner.inward(member)

    def _use(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        outward = self._owner.outward
        try:
            result = function(*map(outward, args), **{k: outward(v) for k, v in kwargs.items()})
        except Refusal as refusal:
            raise refusal.error from None
        return self._owner.inward(result)


class DirectGiven:
    """A given module, whose names are called as the submission's are."""

    def __init__(self, owner: DirectStudent, module: ModuleType) -> None:
        self._owner = owner
        self._module = module

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._module, name)
        return lambda *args, **kwargs: self._owner.run(function, args, kwargs)
