"""Whether this machine can isolate submissions, and what is left of them."""

import contextlib
import os
from pathlib import Path

import pytest

from grader.sandbox import probe


def require_sandbox() -> None:
    """Skip where bubblewrap does not work; fail where isolation is required."""
    problem = probe()
    if problem and (os.environ.get("CI") or os.environ.get("INFERLAB_REQUIRE_BWRAP")):
        pytest.fail(problem)
    if problem:
        pytest.skip(problem)


def processes_that_see(folder: Path | str) -> list[str]:
    """List processes in whose mount namespace a folder of the host is bound."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(folder) in (process / "mountinfo").read_text():
                found.append(f"{process.name}: {(process / 'cmdline').read_bytes()[:200]!r}")
    return found
