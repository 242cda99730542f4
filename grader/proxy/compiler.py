"""A worker beside the submission's others that compiles its kernels, behind the same walls."""

import contextlib
import dataclasses
from typing import Any

from grader.errors import StudentCrashed, SubmissionFault
from grader.labs.compiled import Compiled
from grader.proxy.conversation import Clock, Conversation
from grader.sandbox.pace import PACE
from grader.sandbox.process import Setting, WorkerProcess

SECONDS = 60.0  # of one kernel for one target


class Compiler:
    """Compiles launches; a worker that one of them ends is followed by another."""

    def __init__(self, setting: Setting, source: str, file: str) -> None:
        self._setting = dataclasses.replace(setting, compiles=True)
        self._source = source
        self._file = file
        self._worker: WorkerProcess | None = None
        self._talk: Conversation | None = None

    def compile(self, launch: dict[str, Any], target: str) -> Compiled:
        """Return what came of a launch; whatever the submission does, that is an answer."""
        kernel = launch["kernel"]
        try:
            talk = self._conversation()
            header = {"op": "compile", "launch": launch, "target": target}
            told = talk.request(header, seconds=SECONDS)
            return Compiled.of(kernel, target, told)
        except SubmissionFault as fault:
            return Compiled(kernel, launch["line"], target, error=str(fault)[:200])
        except (ValueError, TypeError):
            fault = StudentCrashed("what came back is no figure of a kernel")
            return Compiled(kernel, launch["line"], target, error=str(fault))

    def _conversation(self) -> Conversation:
        if self._talk is None or self._talk.over:
            self.close()
            self._worker = WorkerProcess(self._setting)
            self._worker.wait_ready()
            clock = Clock(SECONDS, PACE.now() + 10 * SECONDS, PACE.now() + 10 * SECONDS)
            self._talk = Conversation(self._worker, self._setting.device, clock, self._source)
            self._talk.load(self._file)
        return self._talk

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            with contextlib.suppress(OSError):
                self._worker.kill()
        self._worker = self._talk = None
