"""Memory that torch has handed out and nobody has written: ``torch.empty`` and its like.

torch's writes are seen as operators, a kernel's by the sanitizer. What writes by other ways, numpy
for one, is not seen, so such memory is filled with a pattern, and holds it where nobody wrote.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import (
    _disable_current_modes,  # pyright: ignore[reportPrivateUsage]  # torch has no public one
)

from grader.wire.storage import whole_storage
from grader.worker.operators.counters import Dispatch
from grader.worker.operators.followed import name_of
from grader.worker.operators.places import tensors_in, written_by

PATTERN = 0xCB
MOST = 1 << 28  # bytes that are filled: a larger tensor may be meant to be touched in part
MAKERS = frozenset(
    ("empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted")
)


class Unwritten(Dispatch):
    """Follows torch's operators, to know what nobody has written."""

    def __init__(self) -> None:
        super().__init__()
        self._blanks: dict[
            int, Any
        ] = {}  # numpy's truths by address, a byte; an element's first counts

    def see(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator; what it makes or writes to is noted."""
        out = func(*args, **kwargs)
        if name_of(func) in MAKERS:
            with _disable_current_modes():
                for tensor in tensors_in(out):
                    self._fill(tensor)
        elif self._blanks:
            with _disable_current_modes():
                for tensor in written_by(func, args, kwargs):
                    self._mark(tensor)
                if not any(returned.alias_info for returned in func._schema.returns):
                    for tensor in tensors_in(out):  # at an address that was another's
                        self._blanks.pop(tensor.untyped_storage().data_ptr(), None)
        return out

    def blank(self, tensor: Tensor) -> Any:
        """Return numpy's truths of which bytes of a tensor's storage nobody has written."""
        storage = tensor.untyped_storage()
        truths = self._blanks.get(storage.data_ptr())
        return truths if truths is not None and len(truths) == storage.nbytes() else None

    def _fill(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        if 0 < size <= MOST:
            whole_storage(tensor).fill_(PATTERN)
            self._blanks[storage.data_ptr()] = np.ones(size, bool)

    def _mark(self, tensor: Tensor) -> None:
        truths = self.blank(tensor)
        if truths is None:
            return
        size = tensor.element_size()
        flags = torch.from_numpy(truths)
        strides = [stride * size for stride in tensor.stride()]
        flags.as_strided(tensor.shape, strides, tensor.storage_offset() * size).fill_(False)
