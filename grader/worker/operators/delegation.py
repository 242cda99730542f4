"""Whether a submission has another process or thread do what the guard watches.

torch's modes see the thread that entered them alone. So threads that start meanwhile enter them
too; a process of the submission's is noted as such, and so is a thread that it starts without
``threading``, which nothing can watch. Threads from before are not seen.
"""

import _thread
import contextlib
import functools
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
BARE_STARTS = ("start_new_thread", "start_new")  # threading took the first at its own import
SERVANTS = (b"torch/_inductor", b"multiprocessing.resource_tracker")  # what libraries start


class Delegation:
    """Notes processes, and calls ``enter`` in each thread that starts, until it is stopped."""

    def __init__(
        self,
        note: Callable[[str], None],
        enter: Callable[[], None],
        ours: frozenset[int],
        *,
        audit: bool = True,
    ) -> None:
        """``ours`` are processes that are no delegation. Without ``audit`` nothing stays behind,
        and of processes those are seen that live at the beginning or at the end.
        """
        self._note = note
        self._enter = enter
        self._ours = ours
        self._audited = audit
        self._watching = True
        self._look_for_processes()
        if audit:
            sys.addaudithook(self._on_event)  # there is no way to take one out
        threading.setprofile(self._on_thread)
        self._starts = {name: getattr(_thread, name) for name in BARE_STARTS}
        for name, start in self._starts.items():
            setattr(_thread, name, self._noting(start))

    def _noting(self, start: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(start)
        def noting(*args: Any, **kwargs: Any) -> Any:
            if self._watching and not _asked_by_library():
                self._note("a thread without threading")
            return start(*args, **kwargs)

        return noting

    def _on_event(self, event: str, _args: tuple[Any, ...]) -> None:
        if self._watching and event in STARTS and not _asked_by_library():
            self._note("another process")

    def _on_thread(self, *_: Any) -> None:
        sys.setprofile(None)  # the first event of a new thread is all that is wanted
        if self._watching:
            self._enter()

    def _look_for_processes(self) -> None:
        if any(_is_theirs(pid) for pid in children() - self._ours):
            self._note("another process")

    def stop(self) -> None:
        """Watch no longer."""
        if not self._audited:
            self._look_for_processes()
        self._watching = False
        for name, start in self._starts.items():
            setattr(_thread, name, start)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType]  # as its own tests do


def _asked_by_library() -> bool:
    """Tell whether the first caller outside the standard library is an installed package.

    torch and Triton compile kernels in processes of their own, and others look for programs.
    """
    asking = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    for frame, _ in traceback.walk_stack(asking):
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if top not in sys.stdlib_module_names:
            return "-packages/" in frame.f_code.co_filename
    return False


def asked_by(package: str) -> bool:
    """Tell whether a module of the package is among the callers."""
    asking = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names = (frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_stack(asking))
    return any(f"{name}.".startswith(f"{package}.") for name in names)


def children() -> frozenset[int]:
    """Return the processes that this one has started and that still run."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread ends, or the kernel keeps no such list
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return frozenset(found)


def _is_theirs(pid: int) -> bool:
    """Tell whether a process is the submission's own and has not ended."""
    with contextlib.suppress(OSError):
        line = Path(f"/proc/{pid}/cmdline").read_bytes()  # empty once it has ended
        return bool(line) and not any(servant in line for servant in SERVANTS)
    return False
