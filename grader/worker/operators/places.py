"""Where tensors lie, by numbers that the device knows: storages of which it has its own.

A storage whose numbers are the device's alone is a secret; what this process can read of it is
something else. Any other is plain: the device is given its bytes when they are first of use, and
again when they have changed. Storages are kept, so that no address stands for two of them.
"""

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.wire.codec import DTYPES, dtype_name
from grader.wire.errors import Misfit
from grader.wire.storage import odd_tensor

Tell = Callable[[dict[str, Any], list[Tensor] | None], None]
Layout = list[Any]  # number of the storage, bytes before the first element, dtype, shape, strides


@dataclass(slots=True, eq=False)
class Place:
    """A storage that the device has too."""

    number: int
    start: int
    size: int
    storage: torch.UntypedStorage
    secret: bool
    seen: bytes = b""  # of a plain one, as it was told


class Places:
    """The storages of one watch."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._places: list[Place] = []  # in the order of their addresses
        self._starts: list[int] = []
        self._next = -1  # ours are negative, the judge's are not

    def hide(self, number: int, seen: Tensor) -> None:
        """Let a tensor stand for a storage that the judge has given the device."""
        self._know(seen, number).secret = True

    def is_secret(self, tensor: Tensor) -> bool:
        """Tell whether the device alone has the numbers of a tensor."""
        place = self._find(tensor)
        return place is not None and place.secret

    def taint(self, tensor: Tensor) -> None:
        """Let the device alone have a tensor that it knows from now on."""
        if (place := self._find(tensor)) is not None:
            place.secret, place.seen = True, b""

    def of(self, tensor: Tensor) -> Layout:
        """Return where a tensor lies; of a plain one the device has the bytes then.

        Raises Misfit for a tensor that is no plain memory.
        """
        _assert_plain(tensor)
        place = self._find(tensor) or self._know(tensor, None)
        if not place.secret:
            self._refresh(place, tensor)
        return self._layout(place, tensor)

    def make(self, tensor: Tensor) -> Layout:
        """Let the device alone have what an operator has just made, and return where it lies.

        Raises Misfit for a tensor that is no plain memory.
        """
        _assert_plain(tensor)
        place = self._know(tensor, None)
        place.secret = True
        return [*self._layout(place, tensor), place.size]

    def _layout(self, place: Place, tensor: Tensor) -> Layout:
        first = tensor.untyped_storage().data_ptr() - place.start
        offset = first + tensor.storage_offset() * tensor.element_size()
        shape, strides = list(tensor.shape), list(tensor.stride())
        return [place.number, offset, dtype_name(tensor), shape, strides]

    def _refresh(self, place: Place, tensor: Tensor) -> None:
        """Tell the bytes of a plain storage, unless they are as they were told."""
        storage: Any = place.storage
        flat: Any = torch.empty(0, dtype=torch.uint8)
        data = flat.set_(storage)
        seen = data.numpy().tobytes()
        if seen != place.seen or not place.size:
            place.seen = seen
            self._tell({"op": "plain", "number": place.number}, [data])

    def _find(self, tensor: Tensor) -> Place | None:
        if odd_tensor(tensor):
            return None
        storage = tensor.untyped_storage()
        start, size = storage.data_ptr(), storage.nbytes()
        at = bisect.bisect_right(self._starts, start) - 1
        place = self._places[at] if at >= 0 else None
        inside = place is not None and start + size <= place.start + place.size
        return place if inside else None

    def _know(self, tensor: Tensor, number: int | None) -> Place:
        storage = tensor.untyped_storage()
        if number is None:
            number, self._next = self._next, self._next - 1
        place = Place(number, storage.data_ptr(), storage.nbytes(), storage, secret=False)
        at = bisect.bisect_left(self._starts, place.start)
        if at < len(self._starts) and self._starts[at] == place.start:  # it was resized
            self._places[at] = place
        else:
            self._starts.insert(at, place.start)
            self._places.insert(at, place)
        return place


def _assert_plain(tensor: Tensor) -> None:
    odd = odd_tensor(tensor) or tensor.is_conj() or tensor.is_neg() or tensor.device.type != "cpu"
    if odd or dtype_name(tensor) not in DTYPES:
        raise Misfit("a tensor that is no plain memory")


def written_by(func: Any, args: Any, kwargs: Any) -> Iterator[Tensor]:
    """Walk through the arguments that an operator writes to."""
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from tensors_in(value)


def apart(tensors: list[Tensor], others: list[Tensor]) -> list[Tensor]:
    """Return the tensors that share no memory with the others."""
    known = {other.untyped_storage().data_ptr() for other in others}
    return [tensor for tensor in tensors if tensor.untyped_storage().data_ptr() not in known]


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Walk through the tensors of plain memory, a GPU's too, in a value."""
    if isinstance(value, Tensor):
        if not odd_tensor(value):
            yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in([*value.values()])


def arguments(value: Any) -> Iterator[Tensor]:
    """Walk through the tensors of a launch, in wrappers and descriptors too."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from arguments(item)
    elif isinstance(value, dict):
        yield from arguments([*value.values()])
    elif isinstance(value, Tensor):
        yield from tensors_in(value)
    elif isinstance(base := getattr(value, "base", None), Tensor):
        yield from tensors_in(base)
