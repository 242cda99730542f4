"""Whether torch's operators alone do the work, so that what counts them has counted all of it.

An argument that is hidden lies in memory as decoys, and the ``Vault`` follows every operator on
what it is. What leaves torch by any door, were it numpy, a list, a pointer or memory that torch
shares with something else, are decoys, and so is all that is computed from them. An operator that
returns a number returns the true one, for as many as the test lets an answer take.
"""

import contextlib
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.worker.counters import Dispatch
from grader.worker.digging import Digging
from grader.worker.followed import body_of, fills, name_of
from grader.worker.vault import Vault

MAX_NOTES = 20
# By which numbers leave torch. A message names them; what is not among them gives decoys, too.
DOORS = frozenset(
    (
        *("numpy", "__array__", "tolist", "data_ptr", "untyped_storage", "storage", "__dlpack__"),
        *("__reduce_ex__", "to_dlpack", "_typed_storage", "__deepcopy__", "view_as_numpy"),
    )
)


class Doors(TorchFunctionMode):
    """Notes the doors that a submission opens, for the message alone."""

    def __init__(self, probe: "TorchAlone") -> None:
        super().__init__()
        self._probe = probe

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in DOORS and args and isinstance(args[0], Tensor):
            self._probe.leave(name, args[0])
        return func(*args, **(kwargs or {}))


class TorchAlone(Dispatch):
    """Follows torch's operators; ``numbers`` is how many it may tell Python."""

    def __init__(self, numbers: int, own: frozenset[int]) -> None:
        super().__init__()
        self._vault = Vault(numbers, own)
        self._notes: dict[str, int] = {}  # what left, and the most elements of one tensor
        self._digging = Digging()
        self._doors = Doors(self)

    def __enter__(self) -> "TorchAlone":
        super().__enter__()
        self._doors.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._doors.__exit__(*error)
        super().__exit__(*error)

    def hide(self, true: Tensor, seen: Tensor) -> Tensor:
        """Let torch's operators alone see ``true``, and return what else there is to see."""
        with _disable_current_modes():
            self._vault.ask("hide", true, seen)
        return seen

    def true(self, tensor: Tensor) -> Tensor:
        """Return what operators made of a result."""
        return self._vault.ask("true", tensor)

    def leave(self, door: str, tensor: Tensor) -> None:
        """Note that elements have left torch."""
        with _disable_current_modes(), contextlib.suppress(RuntimeError):
            self.note(door, self._vault.ask("knows", tensor))

    def note(self, what: str, count: int) -> None:
        """Note what was not followed, and of how many elements."""
        if count and (what in self._notes or len(self._notes) < MAX_NOTES):
            self._notes[what] = max(self._notes.get(what, 0), count)

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator, and let the vault do the same."""
        if (body := body_of(func)) is not None:
            with self:
                return body(*args, **kwargs)
        name = name_of(func)
        if fills(name):
            return func(*args, **kwargs)
        if func._schema.is_mutable:
            with _disable_current_modes():
                self._vault.ask("prepare", func, args, kwargs)
        out = func(*args, **kwargs)
        with _disable_current_modes():
            went, out = self._vault.ask("follow", func, args, kwargs, out)
            if not went:
                what = name or str(func).removesuffix(".default")[:40]
                self.note(what, self._vault.ask("knows", (args, kwargs)))
        return out

    def stop(self) -> dict[str, Any]:
        """Let Python see memory again, and return what was seen."""
        left = self._vault.ask("told")
        if left < 0:
            self.note("numbers, one by one,", -left)
        self._vault.ask("stop")
        return {"left": self._notes, "dug": self._digging.stop()}
