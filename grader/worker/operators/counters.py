"""What the submission's code costs: operators, sizes, launches, memory.

Each counts from the moment it is made, whatever the code was that ran.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.wire.channel import MAX_OPERATORS

NO_DISPATCH = torch._C._disabled_torch_dispatch_impl  # pyright: ignore  # of plain tensors


class Dispatch(TorchDispatchMode):
    """Sees each operator; what a tensor subclass of its own kind computes, by what that computes.

    As a mode that may skip torch's compiler it would import it first, which takes seconds.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(kind.__torch_dispatch__ is not NO_DISPATCH for kind in kinds):
            return NotImplemented  # its own class goes first, and comes here again
        return self.see(func, args, kwargs or {})

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator and count it."""
        raise NotImplementedError


def _let_subclasses_live() -> None:
    """Let a class below ``Tensor`` be made by its constructor while a mode looks on.

    The constructor makes a tensor by an operator; what a mode has returned is a Python object
    already, of the plain class. Such memory is seen by the first operator that fills or reads it.
    """
    made = torch.Tensor.__new__

    # The compiler holds a function in this place against one of its own, unless it takes anything.
    def new(*args: Any, **kwargs: Any) -> Any:
        if args[0] is torch.Tensor or not torch._C._len_torch_dispatch_stack():  # pyright: ignore
            return made(*args, **kwargs)
        with _disable_current_modes():
            return made(*args, **kwargs)

    torch.Tensor.__new__ = new


_let_subclasses_live()


# What multiplies or adds up element by element, so that attention could be made of it.
ELEMENTWISE = frozenset(
    (
        *("mul", "div", "pow", "square", "exp", "addcmul", "addcdiv", "sum", "mean", "cumsum"),
        *("dot", "vdot", "mv", "addmv", "addr", "outer", "ger"),
    )
)


class Flops(Dispatch):
    """Floating point operations by the formulas of torch's own counter, and one for each element.

    The latter of what multiplies or adds up, so that no product of matrices is had for nothing.
    That counter is itself a mode whose first operator imports the compiler. It takes one attention
    for free, whose formula is ours.
    """

    def __init__(self) -> None:
        super().__init__()
        # Imported here: it brings Triton, and every worker would pay for that.
        from torch.utils.flop_counter import flop_registry

        fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        self._formulas: dict[Any, Any] = {**flop_registry, fused: _attention_flops}
        self.total = 0

    @property
    def reading(self) -> int:
        """What has been counted."""
        return self.total

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run it; what is made of others that have formulas is taken apart."""
        formula = self._formulas.get(func.overloadpacket)
        if formula is None:
            with self:
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        out = func(*args, **kwargs)
        if formula is not None:
            self.total += formula(*args, **kwargs, out_val=out)
        elif str(func).split(".")[1].rstrip("_") in ELEMENTWISE and _is_real(out):
            self.total += most_elements((args, list(kwargs.values()), out))
        return out


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _attention_flops(q: Any, k: Any, *tensors: Any, **options: Any) -> int:
    """Two products of every query [B, H, T, D] with every key [B, G, S, D]."""
    return 4 * q.numel() * int(k.shape[2])


class Largest(Dispatch):
    """The number of elements in the largest storage that an operator returned."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    @property
    def reading(self) -> int:
        """What has been counted."""
        return self.elements

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run it, and look at what it returns."""
        out = func(*args, **kwargs)
        for item in out if isinstance(out, tuple | list) else (out,):
            if isinstance(item, torch.Tensor) and item.layout == torch.strided:
                size = item.untyped_storage().nbytes() // item.element_size()
                self.elements = max(self.elements, size)
        return out


class Operators(Dispatch):
    """The base name of each operator, and the most elements of a tensor that it took or made."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, int] = {}

    @property
    def reading(self) -> dict[str, int]:
        """What has been counted."""
        return self.seen

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run it, and note its name and sizes."""
        out = func(*args, **kwargs)
        space, name = str(func).split(".")[:2]
        known = name if space == "aten" else f"{space}.{name}"
        if known in self.seen or len(self.seen) < MAX_OPERATORS:
            size = most_elements((args, list(kwargs.values()), out))
            self.seen[known] = max(self.seen.get(known, 0), size)
        return out


def most_elements(value: Any) -> int:
    """Return the number of elements of the largest tensor in a value, 0 if it holds none."""
    if isinstance(value, torch.Tensor):
        return value.numel()
    if isinstance(value, tuple | list):
        return max(map(most_elements, value), default=0)
    return 0


class Launches:
    """Counts launches of Triton kernels, interpreted or compiled, from now on.

    The classes are patched, so a kernel that was decorated earlier counts too.
    """

    def __init__(self) -> None:
        self.total = 0
        self._trials = 0
        self._stack = contextlib.ExitStack()
        with contextlib.suppress(ImportError):  # without Triton there is nothing to count
            self._watch()

    def _watch(self) -> None:
        runtime = importlib.import_module("triton.runtime")
        interpreter = importlib.import_module("triton.runtime.interpreter")
        compiler = importlib.import_module("triton.compiler")
        self._patch(runtime.JITFunction, "run", self._counting)
        self._patch(interpreter.InterpretedFunction, "run", self._counting)
        self._patch(compiler.CompiledKernel, "__getitem__", self._counting_runner)
        self._patch(runtime.Autotuner, "_bench", self._in_trial)

    def _patch(self, owner: Any, name: str, wrap: Callable[..., Any]) -> None:
        method = getattr(owner, name)
        setattr(owner, name, functools.wraps(method)(wrap(method)))
        self._stack.callback(setattr, owner, name, method)

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            out = method(*args, **kwargs)
            # A warm-up compiles and launches nothing.
            self.total += not self._trials and not kwargs.get("warmup")
            return out

        return run

    def _counting_runner(self, method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._counting(method(*args, **kwargs))

    def _in_trial(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def bench(*args: Any, **kwargs: Any) -> Any:
            self._trials += 1
            try:
                return method(*args, **kwargs)
            finally:
                self._trials -= 1

        return bench

    def stop(self) -> int:
        """End the count and return it."""
        self._stack.close()
        return self.total


class Silenced(Launches):
    """Lets no kernel run: what comes out right nevertheless was computed elsewhere."""

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get("warmup"):
                return method(*args, **kwargs)
            self.total += 1
            return None

        return run


class Memory:
    """The most GPU memory, in bytes, that was held above what is held now."""

    def __init__(self) -> None:
        torch.cuda.synchronize()
        self._start = torch.cuda.memory_allocated()
        self._peak = self._start
        self.resume()

    def pause(self) -> None:
        """Note the peak so far: what is held only until ``resume`` does not count."""
        self._peak = max(self._peak, torch.cuda.max_memory_allocated())

    def resume(self) -> None:
        """Go on from what is held now."""
        torch.cuda.reset_peak_memory_stats()

    def stop(self) -> int:
        """Return the peak."""
        torch.cuda.synchronize()
        self.pause()
        return self._peak - self._start
