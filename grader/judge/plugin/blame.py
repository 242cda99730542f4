"""Whose fault it is that a test has ended: the submission's, once an answer of ours comes through.

What this machine may be behind is asked again with an answer that is known to be good, in a worker
set up the same way (``proxy/control``). A difference of values is never this machine's.
"""

import re

from grader.errors import (
    StudentCrashed,
    StudentError,
    StudentMemory,
    StudentTimeout,
    SubmissionFault,
)
from grader.judge.plugin.gpu_use import GpuUse
from grader.proxy.student import Student

ENDED = (StudentCrashed, StudentMemory, StudentTimeout)
# Exceptions by which systems and drivers say that they failed, by the names of their classes.
RAISED = frozenset(
    {"OSError", "UnicodeError", "SubprocessError", "SystemError", "LinAlgError"}
    | {"AcceleratorError", "DistError", "TritonError", "PTXASError", "OutOfResources"}
    | {"BackendCompilerFailed", "InductorError"}
)
# Others of them raise RuntimeError as submissions do, and say so in its text alone.
SAID = re.compile(
    r"\b(cuda|cudnn|cublas|nccl|gloo|hip|nvrtc|ptxas|gcc|clang|driver|device-side|compiler"
    r"|out of memory|can't allocate|not enough memory|no space left|shared memory|shared object"
    r"|start new thread|too many open files|temporarily unavailable|timed? ?out"
    r"|connection|closed by peer|broken pipe|socket)",
    re.IGNORECASE,
)


class Blame:
    """Asks for each fault once: what fails on import fails in every test."""

    def __init__(self, student: Student, gpu: GpuUse | None) -> None:
        self._student = student
        self._gpu = gpu
        self._known: dict[SubmissionFault, str] = {}

    def trouble(self, fault: SubmissionFault) -> str:
        """Return what of this machine may have brought a fault about, or an empty string."""
        if not may_be_ours(fault):
            return ""
        if fault not in self._known:
            self._known[fault] = self._look(fault)
        return self._known[fault]

    def _look(self, fault: SubmissionFault) -> str:
        # Without the submission: it may be what holds all memory, or has filled a disk.
        self._student.give_up_()
        trouble = self._gpu.trouble(fault) if self._gpu is not None else ""
        return trouble or self._student.control_()


def may_be_ours(fault: SubmissionFault) -> bool:
    """Tell whether a machine in a bad state could make any submission fail like this."""
    if isinstance(fault, ENDED):
        return True
    if not isinstance(fault, StudentError):
        return False
    names = {fault.kind, *fault.bases}
    return bool(names & RAISED) or SAID.search(fault.message) is not None
