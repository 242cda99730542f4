"""The engine on a Ray cluster: each grading is a task, and a lost node's tasks go to another one.

Ray has to run already (``ray start --head``, and ``ray start --address=…`` on each node), with this
repository at the same commit on every node. The code of a grading is that of the local engine.
"""

import logging
import os
import socket
import time
from typing import Any, cast

from grader.course.grading.jobs import Done, Job, grade_job
from grader.errors import CannotGrade, UsageError
from grader.extras import needs

with needs("cluster"):
    # No part of what a developer installs.
    import ray  # pyright: ignore[reportMissingImports]
    from ray.exceptions import RayError  # pyright: ignore[reportMissingImports]

LOST_NODE_RETRIES = 3  # Ray's own, on top of those of gradings that failed by our fault
PATIENCE_SECONDS = 60.0  # without any node before nothing more is waited for
POLL_SECONDS = 5.0
CONNECT_SECONDS = 10.0
_HINT = "bring it back and run this again with --resume"


class RayEngine:
    """A place for each CPU of a cluster, or ``beside`` for each of its GPUs."""

    def __init__(self, device: str, beside: int = 1) -> None:
        self._kind = "GPU" if device == "cuda" else "CPU"
        self._each = beside if device == "cuda" else 1
        connect()
        gpus = 1 / beside if device == "cuda" else 0
        # A task's process may be gone with its node; then Ray starts it again elsewhere.
        remote: Any = ray.remote(num_cpus=1, num_gpus=gpus, max_retries=LOST_NODE_RETRIES)
        self._grade = remote(grade_job)
        self._running: dict[Any, Job] = {}
        self._alone = 0.0  # seconds without any node
        if not self.places:
            self.close()
            raise UsageError(f"the Ray cluster has no {self._kind}", "ray start on a node with one")

    @property
    def places(self) -> int:
        """How many gradings the nodes that are there now can run at a time."""
        return int(ray.cluster_resources().get(self._kind, 0) * self._each)

    def submit(self, job: Job) -> None:
        """Take a job; it may have to wait."""
        self._running[self._grade.remote(job)] = job

    def wait(self) -> Done:
        """Wait for the next job that ends; raises CannotGrade once no node is left."""
        while (done := self.poll(POLL_SECONDS)) is None:
            pass
        return done

    def poll(self, seconds: float) -> Done | None:
        """Wait for it so long at most; None if none has ended by then."""
        if not self._running:
            time.sleep(seconds)
            return None
        try:
            ended, _ = ray.wait([*self._running], num_returns=1, timeout=seconds)
            places = self.places
        except RayError as error:
            told = str(error).strip().splitlines()[0][:200]
            raise CannotGrade(f"the Ray cluster is gone: {told}", _HINT) from None
        if ended:
            return self._take(ended[0])
        self._alone = 0.0 if places else self._alone + seconds
        if self._alone >= PATIENCE_SECONDS:
            raise CannotGrade(f"no node of the Ray cluster with a {self._kind} is left", _HINT)
        return None

    def _take(self, reference: Any) -> Done:
        job = self._running.pop(reference)
        try:
            return cast(Done, ray.get(reference))
        except RayError as error:
            lines = [line for line in str(error).strip().splitlines() if line.strip()]
            told = f"{type(error).__name__}: {lines[-1].strip()[:200]}" if lines else "no message"
            return Done(job, 0.0, failure=told)

    def close(self) -> None:
        """Cancel what still runs, and leave the cluster."""
        for reference in self._running:
            ray.cancel(reference, force=True)
        self._running.clear()
        ray.shutdown()


def choose_device(wanted: str) -> str:
    """Return "cpu" or "cuda"; "auto" is what the nodes of the cluster have."""
    if wanted not in ("auto", "cpu", "cuda"):
        raise UsageError(f"there is no device {wanted!r}", "give auto, cpu or cuda")
    if wanted != "auto":
        return wanted
    connect()
    return "cuda" if ray.cluster_resources().get("GPU") else "cpu"


def connect() -> None:
    """Join the cluster, once; raises UsageError if there is none."""
    if ray.is_initialized():
        return
    address = os.environ.get("RAY_ADDRESS", "auto")
    try:
        _probe(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RayError, ValueError, RuntimeError) as error:
        ray.shutdown()
        lines = str(error).strip().splitlines() or [type(error).__name__]
        told = f"no Ray cluster answers at {address}: {lines[0][:200]}"
        raise UsageError(told, "ray start --head, or name one in RAY_ADDRESS") from None


def _probe(address: str) -> None:
    """Raise OSError if nobody listens at host:port, where Ray itself would wait for minutes."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
