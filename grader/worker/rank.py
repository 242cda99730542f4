"""One rank of a group: a process forked in the sandbox before any submission code runs there.

It is a worker like another, with its own socket to the judge; beside it a thread says where the
rank is when the judge asks because nothing comes back.
"""

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from typing import Any

import torch
import torch.distributed as dist

# The first backward imports this, for a third of a second: here it is done once for all ranks.
import torch.fx.experimental.symbolic_shapes  # pyright: ignore[reportUnusedImport]
from torch import Tensor, nn

from grader.wire.channel import Channel
from grader.worker.code.faults import MAX_FRAMES
from grader.worker.operators.collectives import Collectives
from grader.worker.serve import Worker
from grader.worker.threads import own_thread_pool

FDS = 4  # that a rank needs: socket, inbox, outbox, the socket of its watch
PR_SET_PDEATHSIG = 1


class Parent(Worker):
    """A worker that forks ranks when it is asked to, and then says how they ended."""

    __slots__ = ()

    def perform(self, header: dict[str, Any], buffers: list[Tensor]) -> Any:
        """Do what a request asks for."""
        match header["op"]:
            case "fork":
                return self._fork(header["device"])
            case "exit_status":
                done, status = os.waitpid(header["pid"], os.WNOHANG)
                return os.waitstatus_to_exitcode(status) if done else None
            case _:
                return super().perform(header, buffers)

    def _fork(self, device: str) -> int:
        """Start a rank that talks through the descriptors which came last; return its id."""
        gc.freeze()  # what we share is not looked at again, and so not copied for each rank
        assert self.channel.fds is not None
        fds = self.channel.fds[:FDS]
        del self.channel.fds[:FDS]
        pid = os.fork()
        if pid == 0:
            try:
                self._become_rank(device, fds)
            finally:
                os._exit(0)
        for fd in fds:
            os.close(fd)
        return pid

    def _become_rank(self, device: str, fds: list[int]) -> None:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        self.channel.close()
        own_thread_pool(torch.get_num_threads())
        channel = Channel(socket.socket(fileno=fds[0]), fds[1], fds[2], takes_fds=True)
        rank = RankWorker(channel, device)
        rank.given = self.given
        watched = socket.socket(fileno=fds[3])
        threading.Thread(target=rank.watch, args=(watched,), daemon=True).start()
        rank.serve()


class RankWorker(Worker):
    """The conversation of one rank."""

    __slots__ = ("_calling", "_main", "collectives")

    def __init__(self, channel: Channel, device: str) -> None:
        super().__init__(channel, device)
        self.collectives: Collectives | None = None
        self._main = threading.get_ident()
        self._calling = False  # the submission is at work

    def perform(self, header: dict[str, Any], buffers: list[Tensor]) -> Any:
        """Do what a request asks for; the ranks' own requests come first."""
        match header["op"]:
            case "join":
                return self._join(header)
            case "collectives":
                seen, self.collectives = self.collectives, None
                return [entry[:2] for entry in seen.begun] if seen else []
            case "subgroup":
                return subgroup(header["ranks"])
            case "call" if header["target"][0] == "backward":
                with self.probes.unobserved():
                    args, kwargs = self.arguments(header, buffers)
                with self._listening():
                    return backward(*args, **kwargs)
            case "call":
                with self._listening():
                    return super().perform(header, buffers)
            case _:
                return super().perform(header, buffers)

    def _join(self, header: dict[str, Any]) -> None:
        """Become a rank of the default group."""
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        dist.init_process_group(
            header["backend"],
            init_method=f"file://{header['store']}",
            rank=header["rank"],
            world_size=header["world"],
        )
        if self.device.type == "cuda":  # what NCCL takes for itself, it takes now
            dist.all_reduce(torch.zeros(1, device=self.device))
            torch.cuda.synchronize(self.device)

    @contextlib.contextmanager
    def _listening(self) -> Generator[None, None, None]:
        """Note collectives; it goes on where the last call left it."""
        if self.collectives is None:
            self.collectives = Collectives(self.file)
        self._calling = True
        try:
            with self.collectives:
                yield
        finally:
            self._calling = False

    def watch(self, sock: socket.socket) -> None:
        """Say where the main thread is, as a line of JSON, each time that a byte comes."""
        while sock.recv(1):
            sock.sendall(json.dumps(self._whereabouts()).encode() + b"\n")

    def _whereabouts(self) -> dict[str, Any]:
        threads = sys._current_frames()  # pyright: ignore[reportPrivateUsage]  # no public one
        # Autograd runs the backward of a GPU on threads of its own.
        order = [threads.pop(self._main, None), *threads.values()]
        frames = next(filter(None, (self._own_frames(frame) for frame in order)), [])
        noted = self.collectives if self._calling else None
        begun = noted.begun if noted else []
        last = begun[-1][::2] if begun else None  # kind and line
        return {"frames": frames, "last": last, "begun": len(begun)}

    def _own_frames(self, frame: Any) -> list[list[Any]]:
        found: list[list[Any]] = []
        while frame is not None and len(found) < MAX_FRAMES:
            if frame.f_code.co_filename == self.file:
                found.append([frame.f_lineno, frame.f_code.co_name])
            frame = frame.f_back
        return found[::-1]


def subgroup(ranks: list[int]) -> Any:
    """Make a group of some ranks, and one of the others, so that each rank gets one more.

    torch names the groups of ``use_local_synchronization`` by how many the rank is in already: with
    uneven counts the submission's own would wait for ever.
    """
    made = dist.new_group(ranks)
    if others := sorted(set(range(dist.get_world_size())) - set(ranks)):
        dist.new_group(others)
    return made


def backward(
    module: Any, inputs: tuple[Tensor, ...], upstream: Any, needs: bool = True, twice: bool = False
) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return a module's outputs, and the gradients of its inputs and of its parameters by name.

    ``upstream`` has the form of the outputs; ``needs``: the inputs require gradients. ``twice``:
    before gradients come back to these outputs, and then to its own, 2x follows each input x.
    """
    leaves = [item.detach().requires_grad_(needs) for item in inputs]
    named = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
    for parameter in named.values():
        parameter.grad = None
    out = module(*leaves)
    later = [module(*(2 * leaf for leaf in leaves))] if twice else []
    for result in (out, *later):
        many = isinstance(result, tuple | list)
        torch.autograd.backward(tuple(result) if many else result, upstream)
    parameters = {name: parameter.grad for name, parameter in named.items()}
    return out, [leaf.grad for leaf in leaves], parameters
