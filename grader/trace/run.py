"""Start a process that runs a file's kernels and records what they touch."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from grader.errors import InferlabError
from grader.trace.record import Trace, read

MODULE = "grader.worker.scripts.traced"
SECONDS = 300  # the examples take one or two


def traced(file: Path, call: str, folders: Sequence[Path] = (), *, quiet: bool = False) -> Trace:
    """Run a file, evaluate a call with its names, and return what its kernels touched.

    It runs with the rights of this process, as any script would; the file can import from
    ``folders``. What kernels print goes to the error stream, or nowhere where it should be quiet.
    """
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    paths = [*map(str, folders), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    with tempfile.TemporaryDirectory(prefix="inferlab-trace-") as place:
        out = Path(place) / "trace.json"
        command = [sys.executable, "-m", MODULE, str(file.resolve()), call, str(out)]
        try:
            done = subprocess.run(
                command,
                env=environment,
                check=False,
                timeout=SECONDS,
                stderr=subprocess.DEVNULL if quiet else None,
            )
        except subprocess.TimeoutExpired:
            raise InferlabError(
                f"the kernels did not end within {SECONDS} s", "is there a loop that waits?"
            ) from None
        if not out.is_file():
            raise InferlabError(
                f"the process that ran the kernels ended with code {done.returncode}",
                "make python LAB=… FILE=mine.py runs a script in the same way",
            )
        return read(json.loads(out.read_text(encoding="utf-8")))
