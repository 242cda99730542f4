"""What a worker's process runs: import what is given, take the limits, say "ready", serve."""

import contextlib
import gc
import importlib
import json
import os
import resource
import socket
import sys

import torch

from grader.wire import Channel
from grader.worker import Worker


def limit(limits: dict[str, int]) -> None:
    """Set the limits that the kernel keeps for this process and all that it starts."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))


def main() -> None:
    """Start: import what is given, say that we are ready, then serve."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    channel = Channel(sock, int(sys.argv[2]), int(sys.argv[3]), takes_fds=True)
    for fd in sys.argv[1:4]:
        os.set_inheritable(int(fd), False)
    config = json.loads(sys.argv[4])
    torch.set_num_threads(config["threads"])
    worker = _worker(channel, config["device"], config["ranks"])
    sys.path.insert(0, config["given_path"])
    for name in config["given"]:
        worker.given[name] = importlib.import_module(f"labs.{name}")
    if worker.device.type == "cuda" and config["ranks"] == 1:  # CUDA survives no fork
        torch.zeros(1, device=worker.device)
    if config["triton"]:
        # Imported here: only labs that write kernels pay for Triton, and while the worker waits.
        from grader import interpreter

        interpreter.prepare(worker.device.type)
    gc.enable()
    limit(config["rlimits"])
    channel.send({"op": "ready"}, [], None)
    with contextlib.suppress(Exception):
        worker.serve()
    os._exit(0)


def _worker(channel: Channel, device: str, ranks: int) -> Worker:
    if ranks == 1:
        return Worker(channel, device)
    # Imported here: only labs on groups need it.
    from grader.rank import Parent

    return Parent(channel, device)
