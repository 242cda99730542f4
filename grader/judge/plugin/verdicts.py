"""What an exception that ended a test says: a verdict and the words for the student.

Whatever is not about the submission is ``infra``.
"""

import traceback
from collections.abc import Sequence

import pytest

from grader.errors import (
    CannotGrade,
    Mismatch,
    NotGraded,
    StudentCrashed,
    StudentError,
    StudentMemory,
    StudentTimeout,
)
from grader.judge.setup.log import NAME
from grader.labs.results import Verdict

VERDICTS: tuple[tuple[type[Exception], Verdict], ...] = (
    (Mismatch, Verdict.FAILED),
    (StudentError, Verdict.ERROR),
    (StudentTimeout, Verdict.TIMEOUT),
    (StudentMemory, Verdict.MEMORY),
    (StudentCrashed, Verdict.CRASHED),
)


def verdict_of(
    item: pytest.Item, error: BaseException, calls: Sequence[str] = ()
) -> tuple[Verdict, str]:
    """Return the verdict of a test that this ended, and the message: contract, calls, what came."""
    if isinstance(error, NotGraded):
        return Verdict.NOT_GRADED, str(error)  # no contract is broken: none is shown
    for kind, verdict in VERDICTS:
        if isinstance(error, kind):
            return verdict, "\n".join([_contract(item), *_called(calls), _explained(error)]).strip()
    if isinstance(error, CannotGrade):
        return Verdict.INFRA, error.message
    return Verdict.INFRA, f"the judge failed with {type(error).__name__}; {NAME} says where"


def called_a_value(error: BaseException, item: pytest.Item) -> bool:
    """Tell whether the test itself called what the submission gave as an attribute."""
    called = isinstance(error, TypeError) and str(error).endswith("object is not callable")
    return called and traceback.extract_tb(error.__traceback__)[-1].filename == str(item.path)


def _called(calls: Sequence[str]) -> list[str]:
    """Return the lines that say what was called."""
    if len(calls) < 2:
        return [f"call: {call}" for call in calls]
    return ["calls:", *(f"  {call}" for call in calls)]


def _contract(item: pytest.Item) -> str:
    """Return the first line of the test's docstring: what must hold, in the student's words."""
    text = getattr(getattr(item, "obj", None), "__doc__", None) or ""
    return text.strip().partition("\n")[0]


def _explained(error: Exception) -> str:
    """Return what went wrong, with the student's own lines for an exception of theirs."""
    lines = [str(error)]
    if isinstance(error, StudentError):
        lines += [
            f"  line {f.line} in {f.function}: {f.source}" for f in error.frames[-4:] if f.line
        ]
    return "\n".join(lines)
