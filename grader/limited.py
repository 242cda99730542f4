"""Run a program on hostile input: its time, memory, output and files have an end.

The limits of a process hold for each of its children too. Output is read as it comes, so that no
more than its limit is ever held. Whatever is over ends the whole session of the program.
"""

import contextlib
import os
import select
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Protocol

CHUNK = 1 << 16
TOLD = 1 << 16  # bytes of standard error that are kept, from its beginning and from its end each
_OUT_OF_MEMORY = (b"Out of memory", b"out of memory", b"Cannot allocate memory", b"MemoryError")
# As compilers tell of their parts.
_OUT_OF_TIME, _OUT_OF_ROOM = b"CPU time limit exceeded", b"File size limit exceeded"
_CPU, _FILE = int(signal.SIGXCPU), int(signal.SIGXFSZ)


class Resource(StrEnum):
    """What may run out."""

    TIME = "time"
    CPU = "processor time"
    MEMORY = "memory"
    OUTPUT = "output"
    FILE = "file size"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may take; 0 leaves the kernel's limit as it is.

    ``memory`` is the address space of each process, ``file`` the size of any file that it writes.
    """

    seconds: float
    output: int
    cpu_seconds: int = 0
    memory: int = 0
    file: int = 0

    def told(self, resource: Resource) -> str:
        """Return what was too much, as "took longer than 120 s"."""
        return {
            Resource.TIME: f"took longer than {self.seconds:g} s",
            Resource.CPU: f"needs more than {self.cpu_seconds} s of processor time",
            Resource.MEMORY: f"needs more than {_size(self.memory)} of memory",
            Resource.OUTPUT: f"has more than {_size(self.output)} to say",
            Resource.FILE: f"writes more than {_size(self.file)}",
        }[resource]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended; ``over`` is the limit that it met, if that is why."""

    status: int  # as ``subprocess`` has it: negative for a signal
    told: bytes  # of standard error, the beginning and the end
    over: Resource | None
    output: bytes = b""
    processor: float = 0.0  # seconds that the program itself took, without its children


class Clock(Protocol):
    """Tells how long a program has had; it may stand still while others keep it from running."""

    def now(self) -> float:
        """Return seconds."""
        ...

    def watch(self, pid: int, /) -> None:
        """Look at a process and all below it, until it is forgotten."""
        ...

    def forget(self, pid: int, /) -> None:
        """Look no longer."""
        ...


class _Plain:
    """The time that passes."""

    now = staticmethod(time.monotonic)

    def watch(self, _: int) -> None:
        """All processes have the same."""

    forget = watch


class _Told:
    """Standard error, of which the middle is dropped."""

    def __init__(self) -> None:
        self._head, self._tail = b"", b""

    def take(self, chunk: bytes) -> None:
        room = TOLD - len(self._head)
        self._head += chunk[:room]
        self._tail = (self._tail + chunk[room:])[-TOLD:]

    def bytes(self) -> bytes:
        return self._head + self._tail


def run(
    command: Sequence[str],
    limits: Limits,
    *,
    stdin: bytes = b"",
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    clock: Clock | None = None,
) -> Ended:
    """Run a program to its end, or to a limit; raises ``OSError`` if it cannot be started.

    The limit of time goes by a ``clock``; None: by the time that passes.
    """
    chunks: list[bytes] = []
    stream = open_stream(command, limits, stdin=stdin, env=env, pass_fds=pass_fds, clock=clock)
    while True:
        try:
            chunks.append(next(stream))
        except StopIteration as stop:
            ended: Ended = stop.value
            return replace(ended, output=b"".join(chunks))


def open_stream(
    command: Sequence[str],
    limits: Limits,
    *,
    stdin: bytes = b"",
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
    clock: Clock | None = None,
) -> Generator[bytes, None, Ended]:
    """Yield what a program writes, as it comes; closing the generator kills the program."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*_limiter(limits), *command],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=dict(env),
        pass_fds=pass_fds,
        start_new_session=True,
        bufsize=0,
    )
    told, clock = _Told(), clock or _Plain()
    clock.watch(process.pid)
    with process:
        try:
            over = yield from _pump(process, limits, stdin, told, clock)
        except BaseException:
            _kill(process)
            raise
        finally:
            clock.forget(process.pid)
        if over is not None:
            _kill(process)
        processor = _processor(process)
    over = over or _cause(process.returncode, told.bytes())
    return Ended(process.returncode, told.bytes(), over, processor=processor)


def _limiter(limits: Limits) -> list[str]:
    """Return the start of a command line that sets limits for what follows."""
    options = {
        "as": str(limits.memory or ""),
        # Of two limits the first sends a signal that says which one it was.
        "cpu": f"{limits.cpu_seconds}:{limits.cpu_seconds + 1}" if limits.cpu_seconds else "",
        "fsize": str(limits.file or ""),
    }
    wanted = [f"--{name}={value}" for name, value in options.items() if value]
    return ["prlimit", "--core=0", *wanted, "--"] if wanted else []


def _pump(
    process: subprocess.Popen[bytes], limits: Limits, stdin: bytes, told: _Told, clock: Clock
) -> Generator[bytes, None, Resource | None]:
    """Feed and read until the program has closed its ends; return the limit that it met."""
    ends = clock.now() + limits.seconds
    left, given = limits.output, memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for file in (process.stdout, process.stderr):
            assert file is not None
            selector.register(file, selectors.EVENT_READ)
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        selector.register(process.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            ready = selector.select(max(0.0, ends - clock.now()))
            if clock.now() >= ends:
                return Resource.TIME
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    given = _feed(process.stdin, given)
                    if not given:
                        selector.unregister(process.stdin)
                        _close(process.stdin)
                    continue
                chunk = os.read(key.fd, CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    told.take(chunk)
                elif (left := left - len(chunk)) < 0:
                    return Resource.OUTPUT
                else:
                    yield chunk
    return None if _has_ended(process, max(0.0, ends - clock.now())) else Resource.TIME


def _has_ended(process: subprocess.Popen[bytes], seconds: float | None = None) -> bool:
    """Wait for the end of a program that nobody has heard of yet; its accounts stay for now."""
    ending = os.pidfd_open(process.pid)
    try:
        return bool(select.select([ending], [], [], seconds)[0])
    finally:
        os.close(ending)


def _processor(process: subprocess.Popen[bytes]) -> float:
    """Return the processor seconds of a program that has ended or is being killed."""
    _has_ended(process)
    with contextlib.suppress(OSError, ValueError, IndexError):
        # What comes after its name, which may hold anything.
        fields = Path(f"/proc/{process.pid}/stat").read_text("latin-1").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _feed(file: IO[bytes], given: memoryview) -> memoryview:
    """Write what the pipe takes; a program that reads no more gets no more."""
    try:
        return given[os.write(file.fileno(), given[:CHUNK]) :] if given else given
    except BlockingIOError:
        return given
    except BrokenPipeError:
        return given[:0]


def _close(file: IO[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        file.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole session: what was left behind would keep the pipes open."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _cause(status: int, told: bytes) -> Resource | None:
    """Return the limit that the kernel enforced, on the program or, as it tells, on a child."""
    if status == 0:
        return None
    own = [line for line in told.splitlines() if not line.startswith(b"remote:")]
    for number, resource in ((_CPU, Resource.CPU), (_FILE, Resource.FILE)):
        if status == -number or any(line.endswith(b"signal %d" % number) for line in own):
            return resource
    for sign, resource in ((_OUT_OF_TIME, Resource.CPU), (_OUT_OF_ROOM, Resource.FILE)):
        if any(sign in line for line in own):
            return resource
    if any(sign in line for line in own for sign in _OUT_OF_MEMORY):
        return Resource.MEMORY
    return None


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
