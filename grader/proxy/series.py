"""Many cases of one function. Each is a request of its own, so the judge has as many results.

A worker that held several could be made to leave some out, and the submission would know which
are to come.
"""

from collections.abc import Sequence
from typing import Any

from grader.proxy.conversation.conversation import Conversation
from grader.proxy.values.values import holds_tensors


def each(talk: Conversation, name: str, args: tuple[Any, ...], lasts: Sequence[Any]) -> list[Any]:
    """Return what a function gives for ``args`` and, behind them, each of ``lasts``."""
    target = ["function", name]
    for last in lasts[-1:]:
        talk.note(target, (*args, last), {})
    header = {"op": "each", "target": target}
    return talk.series(header, args, [({"op": "next"}, last) for last in lasts])


def together(talk: Conversation, target: list[Any], cases: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Return what a function or method gives for each case, all of it alive to the last call."""
    talk.note(["together", *target[1:]], tuple(cases), {})
    for number, case in enumerate(cases):
        talk.call(target, case, {}, keep=number)
    name = str(target[-1])
    return [talk.take(i, name, given=holds_tensors(case)) for i, case in enumerate(cases)]


def gradients_together(
    talk: Conversation, name: str, cases: Sequence[tuple[tuple[Any, ...], Any]]
) -> list[Any]:
    """Return the gradients of each (tensors, upstream); all go forward before one goes back."""
    talk.note(["gradients_together", name], tuple(cases), {})
    for number, (tensors, _) in enumerate(cases):
        talk.call(["forward", name], (tensors,), {}, keep=number)
    for number, (_, upstream) in enumerate(cases):
        talk.call(["backward", number, name], (upstream,), {}, keep=number)
    return [talk.take(number, name, given=True) for number in range(len(cases))]
