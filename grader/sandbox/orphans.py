"""End what bubblewrap leaves behind when a judge is killed in the moment in which it starts.

Its second process waits for a word of its first before it asks to die with it. If judge and first
process are killed before that, it waits for ever: without a namespace, a child or a submission.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

LAUNCHER = b"bwrap"


def end_orphans(mark: str) -> None:
    """Kill every launcher whose command line contains ``mark`` and that nobody waits for."""
    if b"python" in _command(1):
        return  # here the first process may be a judge, and its workers no orphans
    for pid in _adopted():
        command = _command(pid)
        if Path(os.fsdecode(command.split(b"\0")[0])).name.encode() != LAUNCHER:
            continue
        if mark.encode() in command:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _adopted() -> Iterator[int]:
    """Give the processes that the first one has taken over."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # After the name in parentheses, which may hold anything: state, parent.
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
            if parent == b"1":
                yield int(folder.name)


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
