"""A Ray cluster in processes of their own, where Ray is installed; a node of it can be killed."""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Asked for, not imported: every process of tests would import all of Ray.
RAY_IS_MISSING = importlib.util.find_spec("ray") is None
PROGRAM = Path(__file__).with_name("ray_cluster.py")
TRIES = 3  # Ray waits a fixed time for its own processes, and a busy machine may need longer


class Nodes:
    """A cluster in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._tell, self._hear = process.stdin, process.stdout
        self.address = self._line()

    def _line(self) -> str:
        for line in self._hear:
            if line.startswith("killed") or line.strip().rpartition(":")[2].isdigit():
                return line.strip()
        raise AssertionError("the cluster ended")

    def kill(self) -> None:
        """Kill a worker node and everything that runs on it."""
        self._tell.write("kill\n")
        self._tell.flush()
        assert self._line() == "killed"


@contextmanager
def cluster(nodes: int) -> Iterator[Nodes]:
    """Start a cluster of nodes of one CPU each; the first is its head."""
    process, running = _first_that_lives(nodes)
    with process:
        try:
            yield running
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(timeout=60)


def _first_that_lives(nodes: int) -> "tuple[subprocess.Popen[str], Nodes]":
    for _ in range(TRIES):
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(nodes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with suppress(AssertionError):
            return process, Nodes(process)
        process.communicate()
    raise AssertionError(f"no cluster came up in {TRIES} tries")
