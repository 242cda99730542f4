"""A worker beside the submission's others that compiles its kernels, behind the same walls."""

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from grader.errors import JudgeError, StudentCrashed, StudentTimeout, SubmissionFault
from grader.labs.compiled import Compiled
from grader.proxy.conversation.clock import Clock
from grader.proxy.conversation.conversation import Conversation
from grader.proxy.instruments.launches import specialisation
from grader.sandbox.pace import PACE
from grader.sandbox.process import WorkerProcess
from grader.sandbox.setting import Setting

SECONDS = 60.0  # of one kernel for one target
MOST = 8  # launches of a kernel that a test lets compile
CONTROL = '''"""A kernel that every GPU takes: where it does not compile, none would."""

import triton
import triton.language as tl


@triton.jit
def add_one(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at) + 1)
'''
CONTROL_LAUNCH: dict[str, Any] = {
    "kernel": "add_one",
    "line": 1 + CONTROL.splitlines().index("@triton.jit"),
    "args": [["tensor", "float32", [64], 0, 256], ["tensor", "float32", [64], 0, 256]],
    "kwargs": {"BLOCK": ["value", 64]},
}


class Compiler:
    """Compiles launches, equal ones once; a worker that one of them ends is followed by another."""

    def __init__(self, setting: Setting, source: str, file: str, grading: float = math.inf) -> None:
        """``file`` is the source as workers see it; without one it is ours, and is written there.

        ``grading`` is when all must have ended.
        """
        self._setting = dataclasses.replace(setting, compiles=True)
        self._source = source
        self._file = file
        self._clock = Clock(SECONDS, grading=grading)
        self._worker: WorkerProcess | None = None
        self._talk: Conversation | None = None
        self._made: dict[tuple[str, str], Compiled] = {}
        self._works: set[str] = set()  # targets for which kernels can be compiled here
        self._late: set[tuple[str, int, str]] = set()  # kernels by line and target, out of time

    def extend(self, grading: float) -> None:
        """Say anew when all must have ended."""
        self._clock.grading = grading

    def compile(self, launch: dict[str, Any], target: str) -> Compiled:
        """Return what came of a launch; whatever the submission does, that is an answer.

        Raises StudentTimeout where the grading has run past its time.
        """
        key = specialisation(launch), target
        if key not in self._made:
            self._made[key] = self._compile(launch, target)
        return self._made[key]

    def refused(
        self, launches: Sequence[dict[str, Any]], targets: Sequence[str]
    ) -> Iterable[Compiled]:
        """Yield what no compiler takes of a test's launches, or no card has room for.

        What the file alone does not make is let pass, and what takes a compiler long, which says
        nothing of whether a GPU would take it. Raises JudgeError where it is this machine that
        cannot compile.
        """
        kinds = {specialisation(launch): launch for launch in launches}
        taken = dict.fromkeys((launch["kernel"], launch["line"]) for launch in launches)
        for kernel in taken:
            of_it = [one for one in kinds.values() if (one["kernel"], one["line"]) == kernel]
            for launch, target in itertools.product(of_it[:MOST], targets):
                if (*kernel, target) in self._late:
                    continue  # one that takes long does so in its other launches too
                made = self.compile(launch, target)
                if made.missing or (*kernel, target) in self._late:
                    continue
                if made.error:
                    self._assert_works(made.target)
                    yield made
                elif made.excess:
                    yield dataclasses.replace(made, error=made.excess)

    def _compile(self, launch: dict[str, Any], target: str) -> Compiled:
        request = {"op": "compile", "launch": launch, "target": target}
        kernel, fault = launch["kernel"], SubmissionFault()
        for _ in range(2):  # the second time in a fresh worker: what ended the first may be ours
            try:
                told = self._conversation().request(request, seconds=SECONDS)
                return Compiled.of(kernel, target, told)
            except (ValueError, TypeError):
                fault = StudentCrashed("what came back is no figure of a kernel")
                break
            except StudentCrashed as crash:
                fault = crash
            except StudentTimeout:
                if PACE.now() >= self._clock.grading:
                    raise
                fault = StudentTimeout(f"compiling it takes more than {SECONDS:g} s")
                self._late.add((kernel, launch["line"], target))
                break
            except SubmissionFault as other:
                fault = other
                break
        return Compiled(kernel, launch["line"], target, error=str(fault)[:200])

    def _assert_works(self, target: str) -> None:
        """Raise JudgeError if a kernel of ours does not compile either."""
        if target in self._works:
            return
        control = Compiler(self._setting, CONTROL, "")
        try:
            made = control.compile(CONTROL_LAUNCH, target)
        finally:
            control.close()
        if made.error:
            problem = f"no kernel can be compiled for {target} on this machine: {made.error}"
            raise JudgeError(problem, "Triton's compiler and its ptxas have to run here")
        self._works.add(target)

    def _conversation(self) -> Conversation:
        if self._talk is None or self._talk.over:
            self.close()
            worker = self._worker = WorkerProcess(self._setting)
            worker.wait_ready()
            file = self._file
            if not file:
                (worker.folder / "control.py").write_text(self._source)
                file = f"{worker.seen_folder}/control.py"
            self._talk = Conversation(worker, self._setting.device, self._clock, self._source)
            self._talk.load(file)
        return self._talk

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            with contextlib.suppress(OSError):
                self._worker.kill()
        self._worker = self._talk = None
