"""Processor seconds of a command and of all that it starts, by the kernel's own account.

What a process has waited for is all that ``getrusage`` knows of, and workers are killed, not waited
for: a control group counts them too. ``python -m bench.account COMMAND`` prints those of one.
"""

import contextlib
import math
import os
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.sandbox.confinement import limits

NANO, MICRO = 1e-9, 1e-6


def seconds_of(command: Sequence[str], folder: Path) -> float:
    """Run a command in a folder and return its processor seconds, user and system.

    NaN where no control group can be made. Raises RuntimeError if the command fails.
    """
    with _group() as group:

        def enter() -> None:
            if group:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=enter
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[1:]} failed: {done.stdout[-500:]}{done.stderr[-2000:]}")
        return _usage(group) if group else math.nan


@contextmanager
def _group() -> Generator[Path | None, None, None]:
    """Make a control group below our own one, and remove it once all in it have ended."""
    group = _own() / f"bench-{secrets.token_hex(4)}"
    try:
        group.mkdir()
        (group / "cgroup.procs").read_text()
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        for _ in range(100):  # what was killed last may take a moment to go
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


def _own() -> Path:
    try:
        return limits.controller("cpuacct")
    except FileNotFoundError:
        return limits.controller("")  # of the second version there is one group for all


def _usage(group: Path) -> float:
    counter = group / "cpuacct.usage"
    if counter.exists():
        return int(counter.read_text()) * NANO
    lines = (line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(dict(lines)["usage_usec"]) * MICRO


def main(arguments: Sequence[str]) -> int:
    """Print the processor seconds of a command, run here; 1 where nothing counts them."""
    seconds = seconds_of(arguments, Path.cwd())
    if math.isnan(seconds):
        print("no control group can be made here, which would count them", file=sys.stderr)
        return 1
    print(f"{seconds:.1f} processor seconds: {shlex.join(arguments)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
