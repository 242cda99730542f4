"""What the sanitizer wants to know of a kernel's arithmetic: offsets, undefined lanes."""

from collections.abc import Callable
from typing import Any, Protocol

from grader.worker.sanitizer.checked_launch import Launched
from grader.worker.sanitizer.findings import Finding, Findings
from grader.worker.sanitizer.numbers import product_wraps, sum_wraps, too_large, too_wide
from grader.worker.sanitizer.undefined import Undefined

Method = Callable[..., Any]


class Probe(Protocol):
    """Who wants to know."""

    launch: Launched | None
    found: Findings
    undefined: Undefined
    line: Callable[[], int]


class Arithmetic:
    """Wraps methods of the interpreter's builder."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def wrappers(self) -> dict[str, Callable[[Method], Method]]:
        """Return what wraps which method."""
        return {
            "create_mul": self._mul,
            "create_add": self._add,
            "create_dot": self._dot,
            "unary_op": self._unary,
        }

    def _mul(self, method: Method) -> Method:
        def mul(builder: Any, lhs: Any, rhs: Any) -> Any:
            out = method(builder, lhs, rhs)
            launch = self._probe.launch
            if launch is not None and launch.wrapped is None and out.dtype.scalar.name == "int32":
                if product_wraps(vars(lhs)["data"], vars(rhs)["data"]):
                    launch.wrapped = self._probe.line()
            return out

        return mul

    def _add(self, method: Method) -> Method:
        def add(builder: Any, lhs: Any, rhs: Any) -> Any:
            out = method(builder, lhs, rhs)
            launch = self._probe.launch
            if launch is not None and launch.wrapped is None and out.dtype.scalar.name == "int32":
                if sum_wraps(vars(lhs)["data"], vars(rhs)["data"], vars(out)["data"]):
                    launch.wrapped = self._probe.line()
            return out

        return add

    def _unary(self, method: Method) -> Method:
        """Wrap the functions of numpy that lose which NaN they were given."""

        def unary(builder: Any, arg: Any, op: Any) -> Any:
            out = method(builder, arg, op)
            if self._probe.launch is not None:
                self._probe.undefined.keep(vars(arg)["data"], vars(out)["data"])
            return out

        return unary

    def _dot(self, method: Method) -> Method:
        def dot(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
            left, right = vars(a)["data"], vars(b)["data"]
            # What tensor cores do not multiply need not lie in shared memory as a whole.
            exact = left.dtype.kind == "f" and left.itemsize > 2 and "IEEE" in str(rest[1]).upper()
            why = "" if exact else too_large(left, right)
            why = why or too_wide(vars(rest[0])["data"].nbytes)
            if self._probe.launch is not None and why:
                self._probe.found.add(Finding("too large", self._probe.line(), why))
            return method(builder, a, b, *rest)

        return dot
