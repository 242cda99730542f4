"""Programs that run in a process of their own, forked from one that has imported what they need.

For tests that are about what a program does, not about how its process starts.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from socket import socket
from typing import Any, NoReturn

from grader.judge import session
from grader.judge.setup.start import ForkServer, die_with_parent, serve_forks

TESTS = Path(__file__).resolve().parents[1]


class Programs:
    """Runs programs; what it forks them from starts with the first one."""

    def __init__(self) -> None:
        self._server: ForkServer | None = None

    def run(
        self, code: str, folder: Path, environment: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program in a folder, as ``python -c`` does."""
        if self._server is None:
            self._server = ForkServer("tests.stand_ins.programs")
        order = {"code": code, "environment": dict(os.environ if not environment else environment)}
        with self._server(str(folder)) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(order).encode())
            process.stdin.close()
            told = process.stdout.read()
        assert told, "the program died"
        return subprocess.CompletedProcess(code, **json.loads(told))

    def close(self) -> None:
        """End what programs are forked from."""
        if self._server is not None:
            self._server.close()


def serve(fd: int) -> None:
    """Import what programs need, then become one in each process that is forked."""
    die_with_parent()
    sys.path.insert(0, str(TESTS))
    session.preload()
    if serve_forks(socket(fileno=fd)) is not None:
        _become(json.load(sys.stdin))
    os._exit(0)


def _become(order: dict[str, Any]) -> NoReturn:
    """Run the program and tell on standard output how it ended and what it printed."""
    tell = os.dup(1)
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        code = _run(order["code"])
        sys.stdout.flush()
        sys.stderr.flush()
        printed = [os.pread(file.fileno(), 1 << 24, 0).decode() for file in (out, err)]
    ended = {"returncode": code, "stdout": printed[0], "stderr": printed[1]}
    with contextlib.suppress(BrokenPipeError), os.fdopen(tell, "w") as answer:
        json.dump(ended, answer)
    os._exit(0)


def _run(code: str) -> int:
    try:
        exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
