"""Whether kernels would be right on a GPU too: no race, none out of bounds, in any order.

What the worker says of mistakes costs points; its silence proves nothing (docs/trust.md).
"""

from collections.abc import Callable
from typing import Any, TypeVar

from grader.errors import Mismatch, StudentError
from grader.proxy.compare import check
from grader.proxy.readings import Mistake, Sanitized

T = TypeVar("T")

MOST = 3  # mistakes in one message
NOT_COUNTED = ("too large",)  # what a card has room for is no matter of races and bounds


def assert_no_findings(reading: Sanitized) -> None:
    """Fail if kernels raced, left their tensors, or used what nobody has written."""
    found = [mistake for mistake in reading.found if mistake.kind not in NOT_COUNTED]
    more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
    check(not found, "; ".join(map(_sentence, found[:MOST])) + more)


def assert_right_in_any_order(
    student: Any, call: Callable[[], T], compare: Callable[[T], None], seed: int
) -> None:
    """Fail if a call's kernels make a mistake of these, or ``compare`` refuses a result.

    The programs run in their order, then shuffled by ``seed``. On a GPU nothing is followed, and
    the programs run in an order of the card's: there the result alone is looked at, twice.
    """
    for order in ("", "shuffled"):
        got = _followed(student, call, order, seed) if student.follows else call()
        try:
            compare(got)
        except Mismatch as error:
            if not order:
                raise
            raise Mismatch(f"with the programs in another order: {error}") from None


def _followed(student: Any, call: Callable[[], T], order: str, seed: int) -> T:
    got, failure = None, None
    with student.sanitized(order, seed) as reading:
        try:
            got = call()
        except StudentError as error:  # a mistake may be why, and says more
            failure = error
    assert_no_findings(reading)
    if failure is not None:
        raise failure
    return got  # pyright: ignore[reportReturnType]  # without a failure it is what came back


def _sentence(mistake: Mistake) -> str:
    lanes = f" ({mistake.count:,} lanes in all)" if mistake.count > 1 else ""
    return f"{mistake.kind}, line {mistake.line}: {mistake.text}{lanes}"
