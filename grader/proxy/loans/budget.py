"""What the use of lent objects may cost the judge; past a limit the submission has failed.

The limits are more than ten times what right answers to the labs were seen to need: in one call
1,602 uses (lab 10) and 0.9 MB of arguments (lab 03), 54,000 elements of a tensor (lab 03), 22
objects at once (lab 05), 9 MB of memory that stays or is needed for a moment (lab 10), and 0.7 s of
a test's own work (lab 10).
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from grader.errors import Mismatch, StudentMemory, StudentTimeout
from grader.proxy.loans.memory_limit import MemoryLimit
from grader.proxy.loans.watchdog import WATCHDOG, Overtime

T = TypeVar("T")

MAX_USES = 20_000  # of all lent objects, in one call
MAX_BYTES = 64 << 20  # of all arguments' tensors, in one call
MAX_ELEMENTS = 1 << 22  # of a tensor, its zeros left out: what a loop of ours may go through
MAX_OBJECTS = 500  # lent at one time
MAX_MEMORY = 256 << 20  # bytes that lent objects keep in a test, and need for a moment, together
OWN_SECONDS = 10.0  # of processor time, for a test's own work on what calls have left
# In the words of torch and of Python: which of them it is depends on where memory ends.
NO_MEMORY = ("can't allocate memory", "bad_alloc", "Cannot allocate memory", "start new thread")

CEILING = MemoryLimit(MAX_MEMORY)  # of this process


class Budget:
    """What one conversation has cost in its outermost call."""

    def __init__(self) -> None:
        self._uses = 0
        self._bytes = 0

    def begin(self) -> None:
        """Begin an outermost call."""
        self._uses = self._bytes = 0
        CEILING.begin_call()

    def count(self, buffers: Sequence[Tensor]) -> None:
        """Count one use, and what its arguments bring; raises Mismatch for one too many."""
        self._uses += 1
        self._bytes += sum(buffer.numel() for buffer in buffers)
        if self._uses > MAX_USES:
            used = f"lent objects were used {self._uses:,} times in one call"
            raise Mismatch(f"{used}; {MAX_USES:,} are allowed")
        if self._bytes > MAX_BYTES:
            given = f"lent objects were given {self._bytes:,} bytes in one call"
            raise Mismatch(f"{given}; {MAX_BYTES:,} are allowed")

    def check_tensor(self, tensor: Tensor) -> Tensor:
        """Return an argument; raises Mismatch for axes that nobody could walk along."""
        count = math.prod(n for n in tensor.shape if n)
        if count > MAX_ELEMENTS:
            given = f"a lent object was given a tensor of shape {list(tensor.shape)}"
            raise Mismatch(f"{given}; {MAX_ELEMENTS:,} elements, zeros left out, are allowed")
        return tensor

    def check_objects(self, count: int) -> None:
        """Raise Mismatch if more objects are lent than may be."""
        if count > MAX_OBJECTS:
            raise Mismatch(f"{count:,} objects are lent at one time; {MAX_OBJECTS} are allowed")

    def work(self, deadline: float, do: Callable[[], T]) -> T:
        """Return what ``do`` does on arguments that a submission chose.

        Raises StudentMemory if it takes too much, and Overtime past the deadline.
        """
        CEILING.lower()
        try:
            CEILING.check()
            return WATCHDOG.run(deadline, do)
        except Exception as error:
            if is_out_of_memory(error):
                raise too_much() from None
            raise
        finally:
            CEILING.lift()

    def rest(self, do: Callable[[], T]) -> T:
        """Return what ``do`` does inside of work that is none of a lent object's."""
        CEILING.lift()
        try:
            return WATCHDOG.pause(do)
        finally:
            CEILING.lower()


def hold_to_its_time(test: Callable[[], T]) -> T:
    """Return what a test does; raises StudentTimeout if it takes the judge too long.

    Its own work, after the calls, is on what they have left, and that is the submission's choice.
    """
    try:
        return WATCHDOG.run_for(OWN_SECONDS, test)
    except Overtime:
        most = f"the {OWN_SECONDS:g} s of the judge's time that a test may"
        raise StudentTimeout(f"to look at what the code has done took more than {most}") from None


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether an exception says in one way or another that there is no memory."""
    kinds = MemoryError, torch.OutOfMemoryError
    return isinstance(error, kinds) or any(words in str(error) for words in NO_MEMORY)


def too_much() -> StudentMemory:
    """Return the fault of what took more memory than it may."""
    limit = f"the {MAX_MEMORY >> 20} MiB that they may"
    return StudentMemory(f"lent objects took more of the judge's memory than {limit}")
