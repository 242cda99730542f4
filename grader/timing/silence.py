"""Whether results come out of a submission's Triton kernels, as far as a worker can tell.

Where none runs, none may be right. On a CPU, what kernels alone can load must reach the results.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.errors import StudentError, Unsound
from grader.proxy.values.compare import check, resembles

NEAR = 0.01  # of the size of a result


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
    want: Callable[..., Sequence[Tensor]],
    *names: str,
    elements: int,
    free: tuple[str, ...] = (),
) -> None:
    """Fail if a result, right as a rule, is wrong where kernels alone see a case.

    On a GPU that is looked at where it is asked for (``student.hides``).

    ``case`` draws the tensors anew each time, in one form; ``call`` adds what Python may see;
    ``want`` is the oracle. What torch may do outside of kernels is said by ``elements`` and
    ``free``, as ``student.decoys`` has it. A result that is wrong anyway is left to other tests.
    A right one halves the task where kernels have read memory of no tensor.
    """
    if not student.hides:
        return
    # First in the open: who knows the difference cannot know that it is about to come.
    right = _right(call(*(plain := case())), want(*plain))
    if any(name and not was for name, was in zip(names, right, strict=False)):
        student.retire_()  # in a worker where nothing like it has ever been seen
        right = _right(call(*(plain := case())), want(*plain))
    true, decoys = case(), case()
    with student.decoys(elements, free) as shadow:
        got, failure = None, None
        try:
            got = call(*map(student.hide, true, decoys))
        except StudentError as error:
            failure = error
    if failure is not None:
        raise failure
    check(shadow.launches > 0, "no Triton kernel was launched on what the call was given")
    still = _right(got, want(*true))
    found = [n for n, was, now in zip(names, right, still, strict=False) if n and was and not now]
    used = f" (used outside of them: {', '.join(shadow.notes)})" if shadow.notes else ""
    lost = f"; the judge could not follow {shadow.fault}" if shadow.fault else ""
    where = "wrong where your kernels alone can load the numbers"
    check(not found, f"{', '.join(found)}: {where}{used}{lost}")
    if shadow.unsound:
        raise Unsound(shadow.unsound)


def _results(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _right(got: Any, want: Sequence[Tensor]) -> list[bool]:
    """Tell of each result whether it is the oracle's but for what low precision loses."""
    values = _results(got)
    return [_near(values[i], right) if i < len(values) else False for i, right in enumerate(want)]


def _near(got: Any, want: Tensor) -> bool:
    if not isinstance(got, Tensor) or got.shape != want.shape or not got.is_floating_point():
        return False
    finite, got, want = want.isfinite(), got.double(), want.double()
    same = torch.equal(got[~finite], want[~finite])
    return same and bool((got - want)[finite].norm() <= NEAR * want[finite].norm())
