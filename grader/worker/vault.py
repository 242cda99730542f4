"""A thread that alone holds what an argument is: the submission's code works on decoys.

It runs torch's operators and nothing else, on doubles that no object of the other threads leads to.
Only torch's own kernels come in here, by their names, so no Python of the submission's ever has a
true tensor in hand; a temporary lies in this thread's own part of the heap. Numbers go out for the
judge alone, when the frames of the thread that serves are ours.
"""

import _thread
import threading
from queue import SimpleQueue
from typing import Any

import torch
from torch import Tensor

from grader.worker.box import came_by_a_door
from grader.worker.digging import close_thread, frame_of
from grader.worker.shadow import Shadow, apart, tensors_in, written_by

START = _thread.start_new_thread  # whoever profiles new threads by ``threading`` sees none of this
OPERATOR = torch._C._get_operation_overload  # pyright: ignore[reportPrivateUsage]
KERNELS = torch._C._dispatch_dump  # pyright: ignore[reportPrivateUsage]
FOR_ALL = ("hide", "knows", "prepare", "follow", "told")  # none of which gives a number away
FOR_THE_JUDGE = ("true", "stop")
PYTHON_KEY = torch._C.DispatchKey.Python  # pyright: ignore[reportPrivateUsage]
PYTHON = ":: (none) [ boxed ]"  # how torch lists a kernel that is written in Python
KEYS = ("CPU", "AutogradCPU", "ADInplaceOrView", "BackendSelect", "Composite", "Autograd[")


class Vault:
    """The way in. ``numbers`` is how many may be told; ``own`` the globals of our code."""

    def __init__(self, numbers: int, own: frozenset[int]) -> None:
        self._asked: SimpleQueue[Any] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._turn = threading.Lock()
        self._over = False
        asking = threading.get_ident()
        START(_serve, (self._asked, self._answers, numbers, own, asking))

    def ask(self, what: str, *values: Any) -> Any:
        """Return what the thread answers; raises what it raises, without its frames."""
        with self._turn:
            if self._over:
                raise RuntimeError("the watch has ended")
            self._asked.put((what, values))
            answer, error = self._answers.get()
            self._over = what == "stop" and error is None
        if error is not None:
            raise error
        return answer


def _serve(
    asked: SimpleQueue[Any],
    answers: SimpleQueue[Any],
    numbers: int,
    own: frozenset[int],
    asking: int,
) -> None:
    """Answer until the watch ends; whatever holds numbers is a local variable of this frame."""
    close_thread()
    torch.set_num_threads(1)
    torch._C._set_grad_enabled(False)  # pyright: ignore[reportPrivateUsage]
    keeper = _Keeper(numbers)
    hooks = torch._C.DisableTorchFunctionSubclass()  # pyright: ignore[reportPrivateUsage]
    hooks.__enter__()  # a subclass of the submission's must not see what is done with it here
    while True:
        what, values = asked.get()
        answer, error = None, None
        try:
            judged = what in FOR_THE_JUDGE and came_by_a_door(frame_of(asking), own)
            if what not in FOR_ALL and not judged:
                raise PermissionError("numbers that only torch's operators may see")
            answer = getattr(keeper, what)(*values)
        except MemoryError:
            error = MemoryError()
        except Exception as failure:
            error = RuntimeError(f"{what}: {failure!r}"[:200])
        del values
        answers.put((answer, error))
        if what == "stop" and error is None:
            return


class _Keeper:
    """What the thread does, and for how many numbers it may tell them."""

    def __init__(self, numbers: int) -> None:
        self._shadow = Shadow()
        self._numbers = numbers

    def hide(self, true: Tensor, seen: Tensor) -> None:
        self._shadow.hide(true, seen)

    def knows(self, value: Any) -> int:
        """Return how many elements of a value differ from what is seen of it."""
        found = ((item, self._shadow.find(item)) for item in tensors_in(value))
        return sum(item.numel() for item, region in found if region and region.written)

    def true(self, tensor: Tensor) -> Tensor:
        """Return what a tensor is; one that nothing hidden has entered is as it seems."""
        region = self._shadow.find(tensor)
        return self._shadow.view(tensor).clone() if region and region.written else tensor

    def prepare(self, func: Any, args: Any, kwargs: Any) -> None:
        """Make ready for an operator that writes to arguments."""
        if any(self._shadow.find(tensor) for tensor in tensors_in((args, kwargs))):
            for tensor in written_by(func, args, kwargs):
                self._shadow.know(tensor)

    def follow(self, func: Any, args: Any, kwargs: Any, out: Any) -> tuple[bool, Any]:
        """Do what an operator has done to what is seen; return whether it went, and the result."""
        given = [*tensors_in((args, kwargs))]
        regions = [region for region in map(self._shadow.find, given) if region is not None]
        if not regions:
            return True, out
        written = [*written_by(func, args, kwargs)]
        results = [*tensors_in(out)]
        made = apart(results, given)
        differs = any(region.written for region in regions)
        if differs and results and not (made or written):
            return True, out  # a view
        plain = not any(map(_is_odd, given))
        if differs and plain and (kernel := _kernel(func)) is not None:
            twins = self._twins(args), self._twins(kwargs)
            try:
                twin = kernel(*twins[0], **twins[1])
            except Exception:  # an index that is out of bounds there
                twin = NotImplemented
            if twin is not NotImplemented and self._take(results, twin, twins, made, written):
                return True, self._told(out, twin)
        for tensor in written:
            self._shadow.take_plain(tensor)
        return not differs, out

    def _take(
        self,
        results: list[Tensor],
        twin: Any,
        twins: Any,
        made: list[Tensor],
        written: list[Tensor],
    ) -> bool:
        trues = [*tensors_in(twin)]
        if any(out.shape != true.shape for out, true in zip(results, trues, strict=False)):
            return False
        for tensor, true in zip(results, trues, strict=False):
            if any(tensor is item for item in made):
                self._shadow.know(tensor).written = True
                self._shadow.view(tensor).copy_(true)
        for true in apart(trues, [*tensors_in(twins)]):
            true.zero_()  # its memory is used again
        for tensor in written:
            self._shadow.know(tensor).written = True
        return True

    def _told(self, out: Any, twin: Any) -> Any:
        """Return a number, or what is seen in its place once too many have been told."""
        if type(twin) not in (bool, int, float, complex):
            return out
        self._numbers -= 1
        return twin if self._numbers >= 0 else out

    def _twins(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._shadow.view(value) if self._shadow.find(value) is not None else value
        if isinstance(value, tuple):
            return tuple(map(self._twins, value))
        if isinstance(value, list):
            return [*map(self._twins, value)]
        if isinstance(value, dict):
            return {key: self._twins(item) for key, item in value.items()}
        return value

    def told(self) -> int:
        """Return how many numbers may be told yet."""
        return self._numbers

    def stop(self) -> None:
        """Let Python see what has been computed, but no argument."""
        self._shadow.settle()


def _is_odd(tensor: Tensor) -> bool:
    """Tell whether operators on a tensor run code of its class."""
    return torch._C._dispatch_keys(tensor).has(PYTHON_KEY)  # pyright: ignore[reportPrivateUsage]


def _kernel(func: Any) -> Any:
    """Return torch's own code of an aten operator; None where some of it is Python."""
    space, _, rest = str(func).partition(".")
    name, _, overload = rest.partition(".")
    if space != "aten":
        return None
    full = f"aten::{name}" + ("" if overload in ("", "default") else f".{overload}")
    ours = (line for line in KERNELS(full).splitlines() if line.startswith(KEYS))
    if any(PYTHON in line for line in ours):
        return None
    return OPERATOR(f"aten::{name}", "" if overload == "default" else overload)[0]
