"""What a worker's process runs: import what is given, take the limits, say "ready", serve."""

import contextlib
import gc
import importlib
import json
import os
import resource
import socket
import sys
from types import ModuleType
from typing import Any, NoReturn

import torch

from grader.wire.channel import Channel
from grader.worker.serve import Worker
from grader.worker.threads import own_thread_pool

APART = 32 << 10  # bytes that at most lie between what came in one message: rows of a few thousand


def limit(limits: dict[str, int]) -> None:
    """Set the limits that the kernel keeps for this process and all that it starts."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))


def main() -> None:
    """Start: import what is given, say that we are ready, then serve."""
    config = json.loads(sys.argv[4])
    given = prepare(config)
    gc.enable()
    serve([int(fd) for fd in sys.argv[1:4]], config, given)


def prepare(config: dict[str, Any]) -> dict[str, ModuleType]:
    """Import all that a worker may need, and return what is given.

    No thread starts and no GPU is touched: what has done this may be forked.
    """
    torch.set_num_threads(config["threads"])
    if config["ranks"] > 1:
        importlib.import_module("grader.worker.rank")
    sys.path.insert(0, config["given_path"])
    given = {name: importlib.import_module(f"labs.{name}") for name in config["given"]}
    for name in config["preload"]:
        importlib.import_module(name)
    if config["triton"] and not config["compiles"]:
        # Imported here: only labs that write kernels pay for Triton, and while the worker waits.
        from grader.worker.kernels import interpreter

        interpreter.prepare(config["device"])
        if config["device"] == "cpu":  # so that the judge knows where it lies
            importlib.import_module("grader.worker.hidden.sender")
    return given


def serve(fds: list[int], config: dict[str, Any], given: dict[str, ModuleType]) -> NoReturn:
    """Take the limits, say that we are ready, and answer until the judge is gone.

    ``fds`` are our socket, our inbox and our outbox.
    """
    for fd in fds:
        os.set_inheritable(fd, False)
    own_thread_pool(config["threads"])
    if config["device"] != "cpu" and config["ranks"] == 1:  # CUDA survives no fork
        torch.zeros(1, device=config["device"])
    channel = Channel(socket.socket(fileno=fds[0]), fds[1], fds[2], takes_fds=True, apart=APART)
    worker = _worker(channel, config["device"], config["ranks"])
    worker.given = given
    if config["compiles"]:
        # Imported here: it takes Triton, without its interpreter.
        from grader.worker.compiling.compiler import Compiler

        worker.compiler = Compiler()
    limit(config["rlimits"])
    channel.send({"op": "ready"}, [], None)
    with contextlib.suppress(Exception):
        worker.serve()
    os._exit(0)


def _worker(channel: Channel, device: str, ranks: int) -> Worker:
    if ranks == 1:
        return Worker(channel, device)
    # Imported here: only labs on groups need it.
    from grader.worker.rank import Parent

    return Parent(channel, device)
