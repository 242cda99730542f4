"""The request in which a submission failed, as far as an answer of ours can be asked for it."""

from dataclasses import dataclass
from typing import Any, cast

from torch import Tensor

from grader.proxy.loans.watched_arguments import Watched
from grader.proxy.values.values import Far, Hidden
from grader.wire.codec import Record
from grader.wire.ring import Layout

MOST_TENSORS = 1000
MOST_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class Failed:
    """A request: what it was, the tensors that went with it, and the seconds that it had."""

    header: dict[str, Any]
    tensors: tuple[Tensor | Far, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a test has failed: in which request, with what around it."""

    failed: Failed | None = None  # of a worker that is alone
    ring: Layout | None = None  # of the worker's
    elsewhere: bool = False  # on the device, which has what is hidden
    size: int = 0  # of a group; 0: it was none
    backend: str = ""
    ranks: tuple[Failed | None, ...] = ()  # what each rank of the group was asked for


def failed(header: dict[str, Any], value: Any, seconds: float) -> Failed:
    """Return the record of a request with a value, of its tensors no more than there is room for.

    Tests pass on what a submission has returned: how much that is must not fail an answer of ours.
    """
    few: list[Tensor | Far] = []
    left = MOST_BYTES
    for tensor in _tensors(value)[:MOST_TENSORS]:
        held = tensor.value if isinstance(tensor, Far) else tensor
        left -= held.untyped_storage().nbytes()
        if left >= 0:
            few.append(tensor)
    return Failed(header, tuple(few), seconds)


def _tensors(value: Any) -> list[Tensor | Far]:
    match value:
        case Tensor() | Far():
            return [value]
        case Watched() | Hidden():
            return _tensors(value.value)
        case Record():
            return _tensors([*value.fields.values()])
        case list() | tuple():
            items = cast(list[Any], value)
            return [tensor for item in items for tensor in _tensors(item)]
        case dict():
            return _tensors([*cast(dict[str, Any], value).values()])
        case _:
            return []
