"""The judge as a kernel calls it: a process of its own, with the environment of the kernel's start.

What code in the kernel has changed since (modules, variables, the working directory, threads) is
nothing that a grading sees. An interrupt of the kernel ends the grading, and the kernel stays.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from grader import ROOT
from grader.errors import CannotGrade
from grader.labs.lab import Lab, find_root
from grader.labs.results import Report
from grader.report.facts.stored import report_of

_BOOT = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    "from grader.cli.app import main; sys.exit(main())"
)
PATIENCE_SECONDS = 5.0  # that a grading has to end by itself once it is interrupted
TOLD_SECONDS = 1.0
_CHILD = ("PYTHONSTARTUP", "MPLBACKEND")  # what a kernel sets for itself
Tell = Callable[[str], None]


def _tell_nobody(said: str) -> None:
    """Hear what the judge has said so far."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The program ``lab`` of this tree, as it is when this is made."""

    python: str
    environment: Mapping[str, str]
    root: Path  # of the labs

    @classmethod
    def here(cls) -> "Judge":
        """Remember the interpreter and the environment as they are now."""
        kept = {key: value for key, value in os.environ.items() if key not in _CHILD}
        environment = MappingProxyType({**kept, "NO_COLOR": "1"})
        return cls(sys.executable, environment, find_root())

    def grade(self, lab: Lab, task: str = "", tell: Tell = _tell_nobody) -> Report:
        """Grade the files of a lab, or one task; raises ``CannotGrade`` with what was said.

        Each second what has been said until then is told.
        """
        chosen = ["--task", task] if task else []
        code, out, err = self.run("grade", str(lab.number), *chosen, "--json", "-", tell=tell)
        try:
            return report_of(json.loads(out))
        except (ValueError, AttributeError):
            raise CannotGrade(*_said(err, code)) from None

    def run(self, *arguments: str, tell: Tell = _tell_nobody) -> tuple[int, str, str]:
        """Run one command to its end; an interrupt ends it, and is raised."""
        process = subprocess.Popen(
            [self.python, "-I", "-c", _BOOT, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env=dict(self.environment),
            start_new_session=True,
        )
        with process:
            try:
                out, err = _come(process, tell)
            except BaseException:
                _end(process)
                raise
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def _come(process: subprocess.Popen[bytes], tell: Tell) -> tuple[bytes, bytes]:
    """Return what a process has printed, once it has ended."""
    while True:
        try:
            return process.communicate(timeout=TOLD_SECONDS)
        except subprocess.TimeoutExpired as late:
            tell((late.stderr or b"").decode("utf-8", "replace"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a grading, so that it takes its workers with it; what is left is killed."""
    for number, patience in ((signal.SIGINT, PATIENCE_SECONDS), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.communicate(timeout=patience)
            return
        except subprocess.TimeoutExpired:
            continue


def _said(err: str, code: int) -> Sequence[str]:
    """Return the error and the hint that a command printed."""
    lines = err.strip().splitlines()
    found = [line.partition(": ")[2] for line in lines if line.startswith(("error: ", "hint: "))]
    return found[:2] or [f"the judge ended with {code}", "make doctor"]
