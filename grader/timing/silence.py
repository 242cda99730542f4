"""Whether results come out of a submission's Triton kernels: where none runs, none may be right."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.errors import StudentError
from grader.proxy.compare import check, resembles


def assert_from_kernels(
    student: Any, call: Callable[[], Any], want: Sequence[Tensor], *names: str
) -> None:
    """Fail if a call, made while no kernel runs, gives a right result, or would have run none.

    ``want`` are the oracle's results, ``names`` what to call them; a result without a name may be
    right. Pass inputs that no earlier call has seen: unwritten memory may hold its results.
    """
    got, failure = None, None
    with student.silenced() as kernels:
        try:
            got = call()
        except StudentError as error:  # what no kernel wrote may be of no use further on
            failure = error
    if failure is not None and not kernels.total:
        raise failure
    check(kernels.total > 0, "no Triton kernel was launched")
    pairs = zip(names, got if isinstance(got, tuple) else (got,), want, strict=False)
    found = [name for name, value, right in pairs if name and resembles(value, right)]
    check(not found, f"{', '.join(found)}: right even where your kernels do not run")
