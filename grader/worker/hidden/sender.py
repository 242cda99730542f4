"""Arguments whose numbers are elsewhere: this process has decoys, the device has the truth.

What is hidden lies here as decoys, and as it is in another worker, the *device*. What torch's
operators and kernels are asked to do with it is told there, by name, and done there on what it is;
here operators work on decoys, for the forms of what they make, and kernels do not run. Nothing
comes back but a number where the judge lets one. So whatever else computes has computed on decoys,
whoever it asks: there is nothing here to find.
"""

import contextlib
import socket
from collections.abc import Callable, Generator, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.wire.codec import Packer
from grader.wire.errors import Misfit, WireError
from grader.wire.link import Link
from grader.worker.hidden.launch_sites import Launch, LaunchSites
from grader.worker.operators.admitted import is_admitted
from grader.worker.operators.counters import Dispatch
from grader.worker.operators.followed import body_of, fills, name_of
from grader.worker.operators.places import Places, apart, tensors_in, written_by

MAX_NOTES = 20
NUMBERS = bool, int, float
# By which numbers leave torch. A message names them; what is not among them gives decoys, too.
DOORS = frozenset(
    (
        *("numpy", "__array__", "tolist", "data_ptr", "untyped_storage", "storage", "__dlpack__"),
        *("__reduce_ex__", "to_dlpack", "_typed_storage", "__deepcopy__", "view_as_numpy"),
    )
)


class Doors(TorchFunctionMode):
    """Notes the doors that a submission opens, for the message alone."""

    def __init__(self, leave: Callable[[str, Tensor], None]) -> None:
        super().__init__()
        self._leave = leave

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in DOORS and args and isinstance(args[0], Tensor):
            self._leave(name, args[0])
        return func(*args, **(kwargs or {}))


class Sender(Dispatch):
    """Tells the device what is done with what is hidden, while it runs."""

    def __init__(self, fd: int, file: str, *, kernels: bool, tells: bool) -> None:
        """``kernels``: they are led there too; ``tells``: a number may come back."""
        super().__init__()
        self._link = Link(socket.socket(fileno=fd))
        self._places = Places(self._told)
        self._tells = tells
        self._notes: dict[str, int] = {}  # what was not followed, and the most elements of it
        self._sent = 0
        self._graph = False  # whether one is captured, or told
        self._around = LaunchSites(file, self._launch) if kernels else Doors(self._leave)

    def __enter__(self) -> "Sender":
        super().__enter__()
        self._around.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._around.__exit__(*error)
        super().__exit__(*error)

    # -- for the judge ---------------------------------------------------------------------

    def hide(self, number: int, seen: Tensor) -> Tensor:
        """Let ``seen`` stand for what the device has by a number."""
        self._places.hide(number, seen)
        return seen

    def true(self, tensor: Tensor) -> Any:
        """Return a result as the device is asked for it; a tensor that is no secret as it is."""
        # The doors would hear of it.
        with torch._C.DisableTorchFunction():  # pyright: ignore[reportPrivateUsage]
            if not self._places.is_secret(tensor):
                return tensor
            return {"D": [self._sent, *self._places.of(tensor)]}

    def stop(self) -> dict[str, Any]:
        """Return what was not followed."""
        self._link.close()
        return {"left": self._notes, "sent": self._sent}

    # -- what is told ----------------------------------------------------------------------

    def _told(self, header: dict[str, Any], buffers: list[Tensor] | None = None) -> None:
        with contextlib.suppress(WireError):  # the judge hears of it from the device
            self._link.send(header, buffers)
        self._sent += 1

    def _note(self, what: str, elements: int) -> None:
        if what in self._notes or len(self._notes) < MAX_NOTES:
            self._notes[what] = max(self._notes.get(what, 0), elements)

    def _leave(self, door: str, tensor: Tensor) -> None:
        with _disable_current_modes(), contextlib.suppress(RuntimeError, NotImplementedError):
            if self._places.is_secret(tensor) and not self._graph:  # which looks itself
                self._note(door, tensor.numel())

    def _plain(self, value: Any) -> Any:
        """Return arguments as data; raises Misfit for what is none."""
        return Packer(self._special).pack(value)

    def _special(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return {"T": self._places.of(value)}
        kind = type(value)
        if kind.__module__ == "torch" and kind.__name__ in ("layout", "memory_format"):
            return {"o": str(value).removeprefix("torch.")}
        raise Misfit(f"of type {kind.__module__}.{kind.__qualname__}")

    # -- operators -------------------------------------------------------------------------

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator on decoys, and tell the device what it was."""
        if self._graph:
            return func(*args, **kwargs)
        if (body := body_of(func)) is not None:
            with self:
                return body(*args, **kwargs)
        with _disable_current_modes():
            given = [*tensors_in((args, kwargs))]
            secret = not fills(name_of(func)) and any(map(self._places.is_secret, given))
            told = self._operator(func, args, kwargs) if secret else None
        if not secret:
            return func(*args, **kwargs)
        out = func(*args, **kwargs)
        with _disable_current_modes():
            return self._follow(func, (args, kwargs), given, told, out)

    def _operator(self, func: Any, args: Any, kwargs: Any) -> dict[str, Any] | None:
        """Return an operator as data, before it has written to anything; None if it is none."""
        space, _, rest = str(func).partition(".")
        name, _, overload = rest.partition(".")
        if space != "aten" or not is_admitted(name):
            return None
        try:
            values = self._plain([list(args), kwargs])
        except Misfit:
            return None
        return {"op": "run", "name": name, "overload": overload or "default", "values": values}

    def _follow(
        self, func: Any, values: Any, given: list[Tensor], told: dict[str, Any] | None, out: Any
    ) -> Any:
        results = [*tensors_in(out)]
        written = [*written_by(func, *values)]
        made = apart(results, given)
        if results and not made and not written:
            return out  # a view
        if told is None:
            return self._unfollowed(func, given, out)
        if type(out) in NUMBERS:
            return self._number(told, out)
        try:
            outs = [self._places.make(t) if any(t is m for m in made) else None for t in results]
        except Misfit:
            return self._unfollowed(func, given, out)
        self._told({**told, "outs": outs})
        for tensor in written:
            self._places.taint(tensor)
        return out

    def _unfollowed(self, func: Any, given: list[Tensor], out: Any) -> Any:
        """Return what an operator has made of decoys, as it is."""
        self._note(_shown(func), sum(t.numel() for t in given if self._places.is_secret(t)))
        return out

    def _number(self, told: dict[str, Any], seen: Any) -> Any:
        """Return a number that an operator gives: the true one, if one may still be told."""
        if self._tells:
            self._told({**told, "op": "number"})
            try:
                answer = self._link.receive()[0].get("number")
            except WireError:
                answer = None
            if answer is not None:
                return type(seen)(answer)
        door = "numbers, one by one," if self._tells else "item"
        self._note(door, self._notes.get(door, 0) + 1)
        return seen

    # -- graphs ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def with_a_graph(self) -> Generator[None, None, None]:
        """Tell nothing of what runs inside: a graph has noted it, or it is ours."""
        if self._graph:
            raise RuntimeError("a graph cannot be used while another is captured")
        self._graph = True
        try:
            yield
        finally:
            self._graph = False

    def capture(self, number: int, noted: Iterable[tuple[Any, Any, Any, list[Any]]]) -> None:
        """Tell a graph: operators, arguments, and for each result the memory that it made."""
        with _disable_current_modes():
            self._told({"op": "capture", "graph": number, "calls": [*map(self._noted, noted)]})

    def _noted(self, call: tuple[Any, Any, Any, list[Any]]) -> dict[str, Any]:
        func, args, kwargs, made = call
        told = self._operator(func, args, kwargs)
        if told is None:
            raise RuntimeError(f"a graph here is of torch's own operators, and {func} is none")
        outs = [None if tensor is None else self._places.make(tensor) for tensor in made]
        for tensor in written_by(func, args, kwargs):
            self._places.taint(tensor)
        return {**told, "outs": outs}

    def replay(self, number: int, given: Iterable[Tensor]) -> None:
        """Let the device replay a graph, on what this process has in plain memory by now."""
        with self.with_a_graph(), _disable_current_modes():
            for tensor in given:
                self._places.of(tensor)
            self._told({"op": "replay", "graph": number})

    # -- kernels ---------------------------------------------------------------------------

    def _launch(self, launch: Launch) -> bool:
        """Tell of a launch; False: nothing hidden goes into it, and it runs here."""
        with _disable_current_modes():
            tensors = [*launch.tensors()]
            if not any(map(self._places.is_secret, tensors)):
                return False
            self._told({"op": "launch", **launch.plain(self._special)})
            for tensor in tensors:
                self._places.taint(tensor)
            return True


def _shown(func: Any) -> str:
    return str(func).removesuffix(".default")[:60]
