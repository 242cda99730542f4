"""Where a compiled step looks at what is in a tensor, which would wait for the device."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

WORDS = {"aten._local_scalar_dense.default": ".item(), int(tensor) or `if tensor`"}


class Reads(TorchDispatchMode):
    """Notes which operators tell Python what is in a tensor; torch's compiler works on below it.

    What Python has put there itself tells it nothing: a float of the program that the compiler
    takes for variable enters a graph as a tensor, and so do guards of some versions ask for it.
    """

    def __init__(self, place: Callable[[], str]) -> None:
        """``place`` says where code reads a tensor now, as the end of a phrase."""
        super().__init__()
        self.seen: dict[str, None] = {}
        self._place = place
        self._made: dict[int, tuple[Tensor, float]] = {}  # of a number, by its identity

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Tell the compiler that this is none of the program's modes, at which it would give up."""
        return True

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.lift_fresh.default and type(out) is Tensor and is_number(out):
            self._made[id(out)] = out, out.item()
        if torch.Tag.data_dependent_output in func.tags and not self._knew(args[0], out):
            name = str(func)[:60]
            self.seen.setdefault(WORDS.get(name, name) + self._place())
        return out

    def _knew(self, tensor: Any, out: Any) -> bool:
        made = self._made.get(id(tensor))
        return made is not None and made[1] == out

    def profile(self, _frame: Any, event: str, called: Any) -> None:
        """Note what reads a tensor without an operator; ``sys.setprofile`` takes it."""
        if event == "c_call" and getattr(called, "__name__", "") in ("tolist", "numpy"):
            self.seen.setdefault(f".{called.__name__}(){self._place()}")


def is_number(tensor: Tensor) -> bool:
    """Tell whether a tensor is how the compiler hands a float of the program to a graph."""
    return tensor.dtype == torch.float64 and tensor.dim() == 0 and tensor.device.type == "cpu"
