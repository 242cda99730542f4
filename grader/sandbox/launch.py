"""How the process of a worker starts: an interpreter, alone or behind walls of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol

from grader.environment import To, crossing
from grader.sandbox.confinement import limits
from grader.sandbox.confinement.bubblewrap import confine, worker_environment
from grader.sandbox.setting import Setting

# Of what the kernel counts by user, and by the user of a namespace for all below it: no message
# queues, and so few signals that all workers of a grading together have enough.
SHARES = {"SIGPENDING": 1024, "MSGQUEUE": 0}
PARTS = ("judge", "given", "submission", "built")  # of a stage, in view of a worker
# Imports leave no garbage, and to look for it takes a sixth of their time: main() enables it again.
BOOT = "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv.pop()); from grader."


class Process(Protocol):
    """What a worker runs in, with what it prints on ``stdout``."""

    @property
    def pid(self) -> int: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; raises ``subprocess.TimeoutExpired``."""
        ...

    def kill(self) -> None:
        """End it now."""
        ...


# Of a setting, the worker's folder, and three descriptors: its socket, its inbox, its outbox.
Launch = Callable[[Setting, Path, list[int]], Process]


def interpreter(setting: Setting, module: str, handed: list[int]) -> list[str]:
    """Return the line that runs a module of ours for workers.

    Its arguments: descriptors, what to prepare, and last, taken off, where our code is.
    """
    args = [*map(str, handed), json.dumps(worker_config(setting)), setting.seen("judge")]
    return [sys.executable, "-I", "-B", "-u", "-c", f"{BOOT}{module} import main; main()", *args]


def start_alone(setting: Setting, folder: Path, handed: list[int]) -> Process:
    """Start an interpreter for one worker, as the setting's level asks for."""
    python = interpreter(setting, "worker.boot", handed)
    if setting.level == "none":
        return subprocess.Popen(
            [*limits.outside(), *python],
            env=worker_environment(setting.device, str(folder)),
            pass_fds=handed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )
    return start_confined(setting, python, folder, handed)


def start_confined(
    setting: Setting,
    python: list[str],
    folder: Path,
    handed: list[int],
    *,
    forks: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a command in a sandbox, with a folder as ``/folder`` beside what every worker sees.

    What ``forks`` workers may make namespaces, says nothing, and must never meet a submission.
    """
    binds = [(setting.stage / part, f"/{part}") for part in PARTS]
    for name, path in setting.checkpoints.items():
        binds.append((path, f"/given/labs/checkpoints/{name}"))
    binds.append((folder, "/folder"))
    divided = setting.divided
    command, passed = confine(python, binds, setting.device, divided=divided, forks=forks)
    try:
        return subprocess.Popen(
            [*limits.outside(), *command],
            env=crossing(To.LAUNCHER),
            pass_fds=[*handed, *passed],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if forks else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
        )
    finally:
        for fd in passed:
            os.close(fd)


def worker_config(setting: Setting) -> dict[str, Any]:
    """Return what a worker prepares before it is ready."""
    return {
        "device": setting.device,
        "threads": setting.threads,
        "given_path": setting.seen("given"),
        "given": setting.given,
        "rlimits": SHARES | setting.rlimits,
        "triton": setting.triton,
        "preload": [*setting.preload],
        "compiles": setting.compiles,
        "ranks": setting.ranks,
    }
