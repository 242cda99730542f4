"""Whether kernels alone do the work on a GPU: all else sees other numbers.

An argument that is hidden lies in memory as decoys. While a kernel runs, memory is exchanged with
the ``Shadow``'s, and so is the result that the judge gets. torch on the host is followed there as
far as a lab lets it: it may move values, add up what kernels wrote, and compute on few elements.
Whatever else computes has worked on decoys. Without a GPU the true numbers are not in this process
at all: ``sender``.
"""

import contextlib
from collections.abc import Generator, Iterable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.hidden.box import Box
from grader.worker.hidden.introspection import Introspection
from grader.worker.hidden.shadow import Region, Shadow
from grader.worker.hidden.swaps import Swaps
from grader.worker.operators.counters import Dispatch, most_elements
from grader.worker.operators.followed import Allowance, body_of, fills, name_of
from grader.worker.operators.places import apart, tensors_in, written_by

MAX_NOTES = 20


class Decoys(Dispatch):
    """Follows torch on the host into the shadow, and leads the interpreter there.

    ``free`` are operators that may compute on any number of elements, but on no argument;
    ``elements`` is what all others together may.
    """

    def __init__(self, free: list[str], elements: int, own: frozenset[int], compiled: bool) -> None:
        super().__init__()
        self.shadow = Box(Shadow(), own)
        self._allowance = Box(Allowance(free, elements), own)
        self._digging = Introspection()
        self.launches = 0
        self.fault = ""
        self._depth = 0  # launches that run
        self._notes: dict[str, None] = {}
        self._stack = contextlib.ExitStack()
        Swaps(self, compiled=compiled).apply(self._stack)

    def hide(self, true: Tensor, seen: Tensor) -> Tensor:
        """Let kernels alone see ``true``, and return what Python sees in its place."""
        with _disable_current_modes():
            self.shadow.ask("hide", true, seen)
        return seen

    def true(self, tensor: Tensor) -> Tensor:
        """Return a result as kernels left it."""
        known = self.shadow.ask("find", tensor) is not None
        return self.shadow.ask("view", tensor) if known else tensor

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

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator; where it may, it runs in the shadow too."""
        if (body := body_of(func)) is not None:
            with self:
                return body(*args, **kwargs)
        name = name_of(func)
        given = [*tensors_in((args, kwargs))]
        regions = [region for region in self._find(given) if region is not None]
        if fills(name) or not regions:
            return func(*args, **kwargs)
        written = [*written_by(func, args, kwargs)]
        with _disable_current_modes():
            for tensor in written:
                self.shadow.ask("know", tensor)
        out = func(*args, **kwargs)
        made = apart([*tensors_in(out)], given)
        differs = any(region.written for region in regions)
        if differs and not (made or written):  # a view, or a look
            if name == "local_scalar_dense":
                self.note("item")
            return out
        with _disable_current_modes():
            may = differs and self._may(func, args, kwargs, most_elements((given, out)))
            if may and self._follow(func, args, kwargs, out, made, written):
                return out
            for tensor in written:
                self.shadow.ask("take_plain", tensor)
        if differs:
            self.note(f"torch's {name or func}"[:60])
        return out

    def _may(self, func: Any, args: Any, kwargs: Any, elements: int) -> bool:
        """Tell whether a lab lets torch do this outside of kernels."""
        if self._depth:
            return False
        given = any(r is not None and r.given for r in self._find(tensors_in((args, kwargs))))
        return self._allowance.ask("may", func, args, kwargs, given=given, elements=elements)

    def _find(self, tensors: Iterable[Tensor]) -> list[Region | None]:
        return [self.shadow.ask("find", tensor) for tensor in tensors]

    def _follow(
        self, func: Any, args: Any, kwargs: Any, out: Any, made: list[Tensor], written: list[Tensor]
    ) -> bool:
        """Run an operator on what kernels see; False where other values make it another one."""
        try:
            twins = self._twins(args), self._twins(kwargs)
            twin = func(*twins[0], **twins[1])
        except Exception:  # an index that is out of bounds there
            return False
        pairs = [*zip(tensors_in(out), tensors_in(twin), strict=False)]
        if any(tensor.shape != true.shape for tensor, true in pairs):
            return False
        try:
            given = self._find(tensors_in((args, kwargs)))
            for tensor, true in pairs:
                if any(tensor is item for item in made):
                    self.shadow.ask("know", tensor)
                    self.shadow.ask("view", tensor).copy_(true)
            for true in apart([*tensors_in(twin)], [*tensors_in(twins)]):
                true.zero_()  # its memory is used again
            for region in [self.shadow.ask("know", tensor) for tensor in (*made, *written)]:
                region.written = True
                region.given |= any(source is not None and source.given for source in given)
        except MemoryError:
            raise
        except Exception as error:
            self.fault = f"{func}: {error!r}"[:200]
        return True

    def _twins(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            known = self.shadow.ask("find", value) is not None
            return self.shadow.ask("view", value) if known else value
        if isinstance(value, tuple | list):
            return type(value)(map(self._twins, value))
        if isinstance(value, dict):
            return {key: self._twins(item) for key, item in value.items()}
        return value

    def stop(self) -> dict[str, Any]:
        """Let Python see memory again, and return what was seen."""
        self._stack.close()
        self.shadow.ask("settle")
        seen = {"launches": self.launches, "notes": [*self._notes], "fault": self.fault}
        return {**seen, "dug": self._digging.stop()}
