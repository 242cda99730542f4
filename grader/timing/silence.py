"""Whether results come out of a submission's Triton kernels, as far as a worker can tell.

Where none runs, none may be right. On a CPU, what kernels alone can load must reach the results.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.errors import StudentError
from grader.proxy.compare import check, resembles

ALIKE = 1e-4  # of the size of a result; the same kernels ran on the same numbers


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
    pairs = zip(names, _results(got), want, strict=False)
    found = [name for name, value, right in pairs if name and resembles(value, right)]
    check(not found, f"{', '.join(found)}: right even where your kernels do not run")


def assert_kernels_alone_compute(
    student: Any,
    call: Callable[..., Any],
    case: Callable[[], Sequence[Tensor]],
    *names: str,
    elements: int,
    free: tuple[str, ...] = (),
) -> None:
    """Fail if a result is another where kernels alone see the tensors of a case; nothing on a GPU.

    ``case`` draws them anew each time, always in one form; ``call`` adds what Python may see. What
    torch may do outside of kernels is said by ``elements`` and ``free``, as ``student.decoys`` has
    it.
    """
    if not student.hides:
        return
    true, decoys = case(), case()
    got, failure = None, None
    with student.decoys(elements, free) as shadow:
        try:
            got = call(*map(student.hide, true, decoys))
        except StudentError as error:
            failure = error
    want = call(*true)  # only now, lest the submission keep what it has seen
    if failure is not None:
        raise failure
    check(shadow.launches > 0, "no Triton kernel was launched")
    pairs = zip(names, _results(got), _results(want), strict=False)
    found = [name for name, value, right in pairs if name and not _alike(value, right)]
    if found and shadow.fault:
        raise RuntimeError(f"torch could not be followed: {shadow.fault}")
    used = f" (used outside of them: {', '.join(shadow.notes)})" if shadow.notes else ""
    where = "where only your kernels can load the numbers"
    check(not found, f"{', '.join(found)}: another result {where}{used}")


def _results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _alike(got: Any, want: Any) -> bool:
    """Tell whether two results are the same but for rounding, or no tensors both."""
    if not (isinstance(got, Tensor) and isinstance(want, Tensor)):
        return type(got) is type(want)
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        return False
    got, want = got.double(), want.double()
    finite = want.isfinite()
    odd = torch.where(finite, 0.0, got), torch.where(finite, 0.0, want)
    same = torch.equal(odd[0].nan_to_num(7.0), odd[1].nan_to_num(7.0))
    distance = (got - want)[finite].norm()
    return same and bool(distance <= ALIKE * want[finite].norm())
