"""``lab python``: a script of the student's, run with what a worker of the lab would have."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from grader.errors import UsageError
from grader.labs.lab import Lab, find_lab, find_root
from grader.languages.language import say

ALONE = "grader.worker.scripts.alone"


def run_script(
    lab_text: str, file: Path, arguments: Sequence[str], device: str, *, sanitize: bool = False
) -> int:
    """Run a script; return its exit code. The lab's own folder can be imported from.

    In the interpreter, ``sanitize`` tells at the end which mistakes its kernels made.
    """
    lab = find_lab(lab_text, find_root())
    if not file.is_file():
        raise UsageError(f"{file} is no file", "give a script: make python LAB=6 FILE=mine.py")
    device = _device(device)
    environment = environment_of(lab)
    command = [sys.executable, str(file), *arguments]
    if "triton" in lab.imports:
        command = [sys.executable, "-m", ALONE, device, str(file), *arguments]
        environment.pop("TRITON_INTERPRET", None)
        if device == "cpu":
            environment["TRITON_INTERPRET"] = "1"
            if sanitize:
                command.insert(3, "--sanitize")
            told = say("kernels run in Triton's interpreter, as the judge has it")
            print(told, file=sys.stderr)
    return subprocess.run(command, env=environment, check=False).returncode


def environment_of(lab: Lab) -> dict[str, str]:
    """Return our environment, in which a script can import from the tree and the lab's folder."""
    environment = dict(os.environ)
    folders = [str(lab.root), str(lab.folder), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    return environment


def _device(wanted: str) -> str:
    from grader.judge.grade import choose_device

    return choose_device(wanted)
