"""Returns zeros in a tensor subclass that answers every question with yes.

Expect:
    scale: crashed|failed|error skipped
    score: 0
"""

import torch


class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            out = func(*args, **(kwargs or {}))
        return True if isinstance(out, bool) else out

    def __eq__(self, other):
        return True

    __hash__ = None


def scale(x, factor):
    return torch.zeros_like(x).as_subclass(Yes)
