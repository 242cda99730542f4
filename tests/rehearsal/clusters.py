"""A Ray cluster for the rehearsal, where Ray is installed."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

RAY_IS_MISSING = importlib.util.find_spec("ray") is None
PROGRAM = Path(__file__).resolve().parent.parent / "stand_ins" / "ray_cluster.py"


@contextmanager
def cluster(nodes: int) -> Iterator[str]:
    """Start nodes of one CPU each; gives the address of the cluster."""
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(nodes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            lines = (line.strip() for line in process.stdout)
            yield next(line for line in lines if line.rpartition(":")[2].isdigit())
        finally:
            process.stdin.close()
            process.wait(timeout=60)
