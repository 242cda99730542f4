"""Machines in a bad state, ten of them: what a session or a worker finds is spoilt from outside.

A way may spoil the stage before a session starts, and the session once it is forked; nothing of it
knows of the submission. The process that forks such sessions is ours (``serve``).
"""

import dataclasses
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grader.judge import session
from grader.judge.setup.start import ForkServer, Session, die_with_parent, serve_forks
from grader.labs.lab import load_lab
from grader.proxy.conversation.conversation import Conversation
from grader.sandbox import fork_server, launch
from grader.sandbox.confinement import bubblewrap
from grader.sandbox.setting import Setting

MODULE = "tests.stand_ins.sabotage"
NOTE = "way"  # a file of the stage, for the session that is forked there: the way, the tests
FORKED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static int forked;
static void note(void) { forked = 1; }
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, note); }
"""
CRASHES = (
    FORKED
    + """
int posix_memalign(void **place, size_t alignment, size_t size) {
    if (forked && size >= 4096) raise(SIGILL);
    *place = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    return *place ? 0 : ENOMEM;
}
"""
)
NO_THREADS = (
    FORKED
    + """
typedef int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg) {
    if (forked) return EAGAIN;
    return ((create)dlsym(RTLD_NEXT, "pthread_create"))(t, a, run, arg);
}
"""
)
TRITON = find_spec("triton")
TOOLS = Path(TRITON.origin if TRITON and TRITON.origin else "").parent / "backends/nvidia/bin"
PTXAS = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
VANISHES = """
from pathlib import Path as _Path

def _while_it_is_there(function):
    def made(*args, **kwargs):
        if _Path(__file__).parents[2].joinpath("gone").exists():
            raise RuntimeError("CUDA error: no CUDA-capable device is detected")
        return function(*args, **kwargs)
    return made

for _name in ("empty", "empty_like", "zeros", "zeros_like", "ones", "full"):
    setattr(torch, _name, _while_it_is_there(getattr(torch, _name)))
torch.nn.functional.linear = _while_it_is_there(torch.nn.functional.linear)
"""
STANDS = """
import time as _time

_time.time = _time.monotonic = _time.perf_counter = lambda: 1.0
"""
NO_NCCL = """
def _refuse(*args, **kwargs):
    raise dist.DistBackendError("NCCL error in: socket.cpp:1, unhandled system error")

for _name in ("all_reduce", "all_gather", "all_gather_into_tensor", "broadcast", "barrier"):
    setattr(dist, _name, _refuse)
"""

READ_ONLY = 'mount("tmpfs", "/dev/shm", "tmpfs", NOSUID | NODEV | 1)'

Spoil = Callable[[Path], None]  # of a stage


def nothing(_: Path) -> None:
    """Leave it as it is."""


@dataclass(frozen=True, slots=True)
class Way:
    """A bad state: what is done to the stage, and then in the session, which stands in it."""

    stage: Spoil = nothing
    session: Spoil = nothing


def appended(module: str, code: str) -> Spoil:
    """Return what adds code to a module of the workers."""

    def spoil(stage: Path) -> None:
        with (stage / "judge" / "grader" / f"{module}.py").open("a") as file:
            file.write(code)

    return spoil


def replaced(module: str, old: str, new: str) -> Spoil:
    """Return what changes code of a module of the workers."""

    def spoil(stage: Path) -> None:
        file = stage / "judge" / "grader" / f"{module}.py"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return spoil


def built(code: str) -> Spoil:
    """Return what compiles a library that workers see."""

    def spoil(stage: Path) -> None:
        line = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(stage / "judge" / "odd.so")]
        subprocess.run([*line, "-ldl"], input=code.encode(), check=True)

    return spoil


def environment(**changed: str) -> Spoil:
    """Return what changes variables of workers."""

    def spoil(stage: Path) -> None:
        right = bubblewrap.worker_environment

        def wrong(device: str, home: str) -> dict[str, str]:
            return right(device, home) | changed

        bubblewrap.worker_environment = launch.worker_environment = wrong

    return spoil


def setting(**changed: Any) -> Spoil:
    """Return what changes the setting of workers."""

    def spoil(stage: Path) -> None:
        right = Setting.from_json
        Setting.from_json = staticmethod(lambda data: dataclasses.replace(right(data), **changed))

    return spoil


def small_scratch(_: Path) -> None:
    """Leave one page for all that a worker writes."""
    bubblewrap.SCRATCH_BYTES = fork_server.SCRATCH_BYTES = "4096"
    bubblewrap.SCRATCH = ("--size", "4096", *bubblewrap.SCRATCH[2:])


def read_only_shm(_: Path) -> None:
    """Let what starts alone write to no /dev/shm."""
    right = bubblewrap._walls
    bubblewrap._walls = lambda *args: [*right(*args), "--remount-ro", "/dev/shm"]


def dying_ptxas(stage: Path) -> None:
    """Put an assembler where workers see it that knows its version, and dies of all else."""
    file = stage / "judge" / "ptxas"
    file.write_text(f"#!/bin/sh\n[ $1 = --version ] && exec {TOOLS / 'ptxas'} $1\nkill -SEGV $$\n")
    file.chmod(0o755)


def one_byte_locale(stage: Path) -> None:
    """Let Python believe the locale, of which nobody here knows more than ASCII."""
    environment(LANG="xx_XX.unknown", LC_ALL="C")(stage)
    right = launch.interpreter

    def wrong(*args: Any) -> list[str]:
        python, *rest = right(*args)
        return [python, "-X", "utf8=0", *rest]

    launch.interpreter = fork_server.interpreter = wrong


def gone_after_a_call(stage: Path) -> None:
    """Tell all workers, once the first call has ended, that there is no GPU any more."""
    right = Conversation.call

    def wrong(self: Conversation, *args: Any) -> Any:
        try:
            return right(self, *args)
        finally:
            (stage / "judge" / "gone").touch()

    Conversation.call = wrong


WAYS = {
    "library": Way(built(CRASHES), environment(LD_PRELOAD="/judge/odd.so")),
    "memory": Way(session=setting(memory=1 << 20)),
    "no_shm": Way(
        replaced("worker/confinement", 'mount(f"/folder', f'{READ_ONLY}; mount(f"/folder'),
        read_only_shm,
    ),
    "compiler": Way(dying_ptxas, environment(**dict.fromkeys(PTXAS, "/judge/ptxas"))),
    "disk": Way(session=small_scratch),
    "gpu": Way(appended("worker/boot", VANISHES), gone_after_a_call),
    "nccl": Way(appended("worker/rank", NO_NCCL)),
    "locale": Way(session=one_byte_locale),
    "threads": Way(built(NO_THREADS), environment(LD_PRELOAD="/judge/odd.so")),
    "clock": Way(appended("worker/boot", STANDS)),
    "no_gcc": Way(session=environment(PATH="/nowhere", CC="/bin/false")),
    "no_interface": Way(session=environment(NCCL_SOCKET_IFNAME="none0")),
}

GPU_ALONE = ("no_gcc", "no_interface")  # what acts on nothing else
GPU_WAYS = ("gpu", *GPU_ALONE)


@dataclass(frozen=True, slots=True)
class Sabotaged:
    """Starts sessions on a machine in a bad state."""

    server: ForkServer
    way: str
    tests: str = ""  # of the lab's: an expression of pytest; none: all

    def __call__(self, folder: str) -> Session:
        """Spoil the stage, then fork a session that spoils itself."""
        WAYS[self.way].stage(Path(folder))
        (Path(folder) / NOTE).write_text(f"{self.way}\n{self.tests}")
        return self.server(folder)


def server(labs: Sequence[Path]) -> ForkServer:
    """Return what forks such sessions, with the suites of labs imported."""
    return ForkServer(MODULE, *map(str, labs))


def serve(fd: int, *folders: str) -> None:
    """Import what sessions need, then become one in each fork, on a machine in a bad state."""
    die_with_parent()
    session.preload()
    for folder in folders:
        session.collect(load_lab(Path(folder)))
    if serve_forks(socket.socket(fileno=fd)) is not None:
        stage = Path.cwd()
        way, tests = (stage / NOTE).read_text().split("\n")
        WAYS[way].session(stage)
        right = session.arguments
        session.arguments = lambda *of: [*right(*of), *(["-k", tests] if tests else [])]
        session.main()
    os._exit(0)
