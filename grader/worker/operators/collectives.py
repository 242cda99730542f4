"""What a rank of a group sends: each collective's kind and bytes, and where it was begun.

Like every probe it polices and proves nothing: a rank can reach the other ranks without torch.
"""

import inspect
from typing import Any

import torch

from grader.wire.channel import MAX_COLLECTIVES
from grader.worker.operators.counters import Dispatch

KINDS = {  # beginnings of operator names, underscores apart; the longer one of two comes first
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "alltoall": "all_to_all",
    "reducescatter": "reduce_scatter",
    "monitoredbarrier": "barrier",
    **{name: name for name in ("barrier", "broadcast", "reduce", "gather", "scatter")},
    **{"send": "send", "isend": "send", "recv": "recv", "irecv": "recv", "batchp2pops": "send"},
}
SPACES = ("c10d", "_c10d_functional")
SILENT = {"waittensor", "wraptensorautograd", "checkfornan"}  # they send nothing


class Collectives(Dispatch):
    """The collectives that this rank begins, in order, as ``[kind, bytes, line]``.

    Bytes are those of the full tensor: what an all-gather collects, what a reduce-scatter splits.
    The line is where in ``file`` it was begun; 0 if it was not.
    """

    def __init__(self, file: str) -> None:
        super().__init__()
        self.begun: list[list[Any]] = []
        self._file = file

    def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        kind = kind_of(str(func))
        if not kind or len(self.begun) >= MAX_COLLECTIVES:
            return func(*args, **(kwargs or {}))
        line = line_in(self._file, inspect.currentframe())
        entry = [kind, most_bytes((*args, *(kwargs or {}).values())), line]
        self.begun.append(entry)  # before it begins: it may never come back
        out = func(*args, **(kwargs or {}))
        entry[1] = max(entry[1], total_bytes(out))  # a functional one makes its result
        return out


def kind_of(operator: str) -> str:
    """Return the collective that an operator like "c10d.allreduce_.default" does, or ""."""
    space, name = operator.split(".")[:2]
    plain = name.replace("_", "")
    if not space.startswith(SPACES) or plain in SILENT:
        return ""
    return next((kind for start, kind in KINDS.items() if plain.startswith(start)), plain[:50])


def most_bytes(values: Any) -> int:
    """Return the bytes of the argument that holds the most."""
    return max(map(total_bytes, values), default=0)


def total_bytes(value: Any) -> int:
    """Return the bytes of a tensor, or of all tensors in a list of lists."""
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return sum(map(total_bytes, value)) if isinstance(value, list | tuple) else 0


def line_in(file: str, frame: Any) -> int:
    """Return the line of ``file`` that the innermost of its frames is at, 0 if there is none."""
    while frame is not None:
        if frame.f_code.co_filename == file:
            return int(frame.f_lineno)
        frame = frame.f_back
    return 0
