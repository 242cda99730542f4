"""Whether kernels alone do the work: in calls under this probe, all else reads other numbers.

An argument that is hidden lies in memory as decoys. What the interpreter loads for a kernel comes
from the ``Shadow``, what it stores goes there, and so does the result that the judge gets. torch
on the host is followed there as far as a lab lets it: it may move values, add up what kernels
wrote, and compute on few elements. Whatever else computes, were it numpy, plain Python, or torch in
a kernel's body, has worked on decoys.
"""

import contextlib
from collections.abc import Generator
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.counters import Dispatch, most_elements
from grader.worker.followed import ARITHMETIC, MOVES, body_of, fills, name_of, written_by
from grader.worker.loads import Loads
from grader.worker.shadow import Shadow, tensors_in

MAX_NOTES = 20
BITS = 4  # an element that may leave kernels; bounds of loops take few, a result to 1 % takes more


class Decoys(Dispatch):
    """Follows torch on the host into the shadow, and leads the interpreter there.

    ``free`` are operators that may compute on any number of elements, but on no argument;
    ``elements`` is what all others together may.
    """

    def __init__(self, free: list[str], elements: int) -> None:
        super().__init__()
        self.shadow = Shadow()
        self.launches = 0
        self.fault = ""
        self._free = frozenset(free)
        self._elements = elements
        self._bits = 0  # of numbers that may leave kernels yet
        self._depth = 0  # launches that run
        self._notes: dict[str, None] = {}
        self._stack = contextlib.ExitStack()
        Loads(self).apply(self._stack)

    def hide(self, true: Tensor, seen: Tensor) -> Tensor:
        """Let kernels alone see ``true``, and return what Python sees in its place."""
        with _disable_current_modes():
            self.shadow.hide(true, seen)
        self._bits += BITS * true.numel()
        return seen

    def true(self, tensor: Tensor) -> Tensor:
        """Return a result as kernels left it."""
        return self.shadow.view(tensor) if self.shadow.find(tensor) is not None else tensor

    def note(self, what: str) -> None:
        """Note how numbers were asked for that only kernels may see."""
        if len(self._notes) < MAX_NOTES:
            self._notes[what] = None

    @contextlib.contextmanager
    def launch(self) -> Generator[None]:
        """Return a context in which a kernel runs: nothing that torch does is followed."""
        self.launches += 1
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def number(self, value: Any) -> Any:
        """Return an integer that leaves a kernel for Python's own use; of too many, nothing."""
        self._bits -= max(value.bit_length(), 1)
        if self._bits < 0:
            self.note("numbers taken out of blocks")
            return type(value)()
        return value

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator; where it may, it runs in the shadow too."""
        if (body := body_of(func)) is not None:
            with self:
                return body(*args, **kwargs)
        name = name_of(func)
        given = [*tensors_in((args, kwargs))]
        regions = [region for region in map(self.shadow.find, given) if region is not None]
        if fills(name) or not regions:
            return func(*args, **kwargs)
        written = [*tensors_in([*written_by(func, args, kwargs)])]
        with _disable_current_modes():
            for tensor in written:
                self.shadow.know(tensor)
        out = func(*args, **kwargs)
        made = _apart([*tensors_in(out)], given)
        differs = any(region.written for region in regions)
        if differs and not (made or written):  # a view, or a look
            if name == "local_scalar_dense":
                self.note("item")
            return out
        with _disable_current_modes():
            may = differs and self._may(name, given, out)
            if may and self._follow(func, args, kwargs, out, made, written):
                return out
            for tensor in written:
                self.shadow.take_plain(tensor)
        if differs:
            self.note(f"torch's {name or func}"[:60])
        return out

    def _may(self, name: str, given: list[Tensor], out: Any) -> bool:
        """Tell whether a lab lets torch do this outside of kernels."""
        if self._depth:
            return False
        if name in MOVES:
            return True
        regions = map(self.shadow.find, given)
        if name in self._free and not any(region and region.given for region in regions):
            return True
        size = most_elements((given, out))
        if name not in ARITHMETIC or size > self._elements:
            return False
        self._elements -= size
        return True

    def _follow(
        self, func: Any, args: Any, kwargs: Any, out: Any, made: list[Tensor], written: list[Tensor]
    ) -> bool:
        """Run an operator on what kernels see; False where other values make it another one."""
        try:
            twin = func(*self._twins(args), **self._twins(kwargs))
        except Exception:  # an index that is out of bounds there
            return False
        pairs = [*zip(tensors_in(out), tensors_in(twin), strict=False)]
        if any(tensor.shape != true.shape for tensor, true in pairs):
            return False
        try:
            given = [*map(self.shadow.find, tensors_in((args, kwargs)))]
            for tensor, true in pairs:
                if any(tensor is item for item in made):
                    self.shadow.know(tensor)
                    self.shadow.view(tensor).copy_(true)
            for region in map(self.shadow.know, (*made, *written)):
                region.written = True
                region.given |= any(source is not None and source.given for source in given)
        except MemoryError:
            raise
        except Exception as error:
            self.fault = f"{func}: {error!r}"[:200]
        return True

    def _twins(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.shadow.view(value) if self.shadow.find(value) is not None else value
        if isinstance(value, tuple | list):
            return type(value)(map(self._twins, value))
        if isinstance(value, dict):
            return {key: self._twins(item) for key, item in value.items()}
        return value

    def stop(self) -> dict[str, Any]:
        """Let Python see memory again, and return what was seen."""
        self._stack.close()
        self.shadow.settle()
        return {"launches": self.launches, "notes": [*self._notes], "fault": self.fault}


def _apart(tensors: list[Tensor], others: list[Tensor]) -> list[Tensor]:
    """Return the tensors that share no memory with the others."""
    known = {other.untyped_storage().data_ptr() for other in others}
    return [tensor for tensor in tensors if tensor.untyped_storage().data_ptr() not in known]
