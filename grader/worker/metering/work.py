"""What the operations of a kernel compute: FLOPs, products of matrices, special functions.

Counted is what the kernel's text asks for, lanes behind a mask too, since a GPU computes those as
well; a compiler may fuse, share or drop operations. A FLOP is an addition, a subtraction or a
multiplication of floats, two are an ``fma``. Comparisons, extremes, signs, casts and integers are
none; nor is what a special unit does: exponentials, logarithms, roots, divisions and the like.
"""

import importlib
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

Method = Callable[..., Any]

PLAIN = {"create_fadd": 1, "create_fsub": 1, "create_fmul": 1, "create_fma": 2}
SPECIAL = {
    **{f"create_{name}": name for name in ("exp", "exp2", "log", "log2", "sin", "cos", "erf")},
    **{f"create_{name}": name for name in ("sqrt", "rsqrt")},
    **{"create_precise_sqrt": "sqrt", "create_frem": "rem"},
    **{f"create_{name}": "div" for name in ("fdiv", "precise_divf", "approx_divf")},
}
# Functions of libdevice that only look at a number or round it.
FREE = frozenset(("rint", "trunc", "floor", "ceil", "abs", "copysign"))


class Work:
    """What a launch has computed so far: numbers of operations by dtype, precision or name."""

    def __init__(self) -> None:
        self.flops: Counter[str] = Counter()
        self.dots: Counter[str] = Counter()  # FLOPs of tl.dot
        self.special: Counter[str] = Counter()

    def plain(self) -> dict[str, dict[str, int]]:
        """Return it as plain values."""
        return {"flops": {**self.flops}, "dots": {**self.dots}, "special": {**self.special}}


class Counting:
    """Wraps what the interpreter computes with; ``work`` gives what is counted into, or None."""

    def __init__(self, work: Callable[[], Work | None]) -> None:
        self._work = work

    def wrappers(self) -> dict[str, Callable[[Method], Method]]:
        """Return what wraps which method of the builder, a newer Triton's too."""
        found = {name: self._plain(each) for name, each in PLAIN.items()}
        found |= {name: self._special(function) for name, function in SPECIAL.items()}
        found |= {"create_dot": self._dot, "create_dot_scaled": self._scaled}
        return found | {"create_libdevice": self._libdevice}

    def reductions(self) -> list[tuple[Any, str, Callable[[Method], Method]]]:
        """Return what wraps sums and running sums: owner, name, wrapper.

        Others go through the builder, one element after another.
        """
        interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        scans = interpreter.ScanOps
        return [
            (interpreter.ReduceOps, "sum", self._sum),
            *((scans, name, self._scan) for name in ("cumsum", "cumprod")),
        ]

    def _plain(self, each: int) -> Callable[[Method], Method]:
        def wrap(method: Method) -> Method:
            def operation(*args: Any) -> Any:
                out = method(*args)
                if (work := self._work()) is not None:
                    work.flops[out.dtype.scalar.name] += each * int(out.data.size)
                return out

            return operation

        return wrap

    def _special(self, function: str) -> Callable[[Method], Method]:
        def wrap(method: Method) -> Method:
            def operation(*args: Any) -> Any:
                out = method(*args)
                if (work := self._work()) is not None:
                    work.special[function] += int(out.data.size)
                return out

            return operation

        return wrap

    def _libdevice(self, method: Method) -> Method:
        def function(builder: Any, name: str, values: Any) -> Any:
            out = method(builder, name, values)
            if (work := self._work()) is not None and name not in FREE:
                work.special[name] += int(out.size)
            return out

        return function

    def _dot(self, method: Method) -> Method:
        def dot(builder: Any, a: Any, b: Any, d: Any, precision: Any, *rest: Any) -> Any:
            out = method(builder, a, b, d, precision, *rest)
            if (work := self._work()) is not None:
                work.dots[_kind(a, precision)] += 2 * int(out.data.size) * int(a.data.shape[-1])
            return out

        return dot

    def _scaled(self, method: Method) -> Method:
        """Wrap ``tl.dot_scaled``: cards without its formats multiply in bfloat16."""

        def dot(builder: Any, lhs: Any, scale: Any, form: Any, *rest: Any) -> Any:
            out = method(builder, lhs, scale, form, *rest)
            if (work := self._work()) is not None:
                packed = "E2M1" in str(form).upper() and rest[4]
                inner = int(lhs.data.shape[-1]) * (2 if packed else 1)
                work.dots["bf16"] += 2 * int(out.data.size) * inner
            return out

        return dot

    def _sum(self, method: Method) -> Method:
        def total(operation: Any, block: Any) -> Any:
            out = method(operation, block)
            if (work := self._work()) is not None and block.dtype.is_floating():
                before, after = (int(each.handle.data.size) for each in (block, out))
                work.flops[block.dtype.name] += before - after
            return out

        return total

    def _scan(self, method: Method) -> Method:
        def scan(operation: Any, block: Any) -> Any:
            out = method(operation, block)
            if (work := self._work()) is not None and block.dtype.is_floating():
                shape = block.handle.data.shape
                work.flops[block.dtype.name] += (
                    math.prod(shape) // shape[operation.axis] * (shape[operation.axis] - 1)
                )
            return out

        return scan


def _kind(operand: Any, precision: Any) -> str:
    """Return what a ``tl.dot`` multiplies: of float32 the precision, "fp32" for all its bits."""
    name = str(operand.dtype.scalar.name)
    if name != "fp32":
        return "fp8" if name.startswith("fp8") else name
    asked = str(precision).rpartition(".")[2].lower()
    return "fp32" if asked == "ieee" else asked
