"""Start what reads a submission, under one budget for all of it, however many files and tries.

A file can be made that takes a parser, a compiler or a pattern quadratic time, and a submission
has several: each would have a limit of its own, and all together many times that.
"""

import math
import sys

from grader import ROOT
from grader.confined import CPU_SECONDS, MEMORY
from grader.environment import To, crossing
from grader.errors import JudgeError
from grader.limited import Ended, Limits, Resource, run

WALL_SECONDS = 90.0  # processor time ends far below this
MAX_REPLY = 32 << 20
BOOT = f"import sys; sys.path.append({str(ROOT)!r})"
_PYTHON = sys.executable  # as it was at first: in a kernel a student may change it


class Budget:
    """What reading one submission may still take of the processor; one for each command."""

    def __init__(self, seconds: float = CPU_SECONDS) -> None:
        self.left = seconds

    def run(self, module: str, content: bytes, *arguments: str) -> Ended:
        """Let the ``main`` of a module read; raises ``JudgeError`` if this machine cannot.

        Each has a second at least: what one part takes costs others no verdict.
        """
        boot = f"{BOOT}; from {module} import main; main()"
        line = [_PYTHON, "-I", "-S", "-B", "-X", "utf8", "-c", boot, *arguments]
        seconds = max(1, math.ceil(self.left))
        limits = Limits(WALL_SECONDS, MAX_REPLY, cpu_seconds=seconds, memory=MEMORY)
        try:
            ended = run(line, limits, stdin=content, env=crossing(To.READER))
        except OSError as error:
            raise JudgeError(f"a reader of submissions cannot start: {error}") from None
        self.left -= ended.processor
        if ended.over is Resource.TIME:
            raise JudgeError("reading the submission took too long on this machine")
        return ended
