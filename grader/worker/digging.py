"""Notes how code looks for what a probe keeps from it: by Python's own events.

Other threads' frames, the collector's lists of objects, hooks that run in every thread, and the
process's memory as a file: no answer to a lab needs them. A thread that was not there when the
watch began, and that runs no Python but ours, has no business with any frame at all.
"""

import sys
import threading
from types import FrameType
from typing import Any

EVENTS = frozenset(
    (
        *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames"),
        *("sys._current_exceptions", "sys.settrace", "sys.setprofile"),
        *("sys.monitoring.register_callback", "ctypes.PyObj_FromPtr"),
    )
)
OWNERS = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")  # of frames
FILES = ("mem", "maps", "smaps", "pagemap", "numa_maps")  # of /proc, for a process
MAX_HITS = 10

_watches: list["Digging"] = []
_hooked: list[bool] = []
_closed: set[int] = set()  # threads of ours
_ours = threading.local()  # whether this thread asks for the judge


def close_thread() -> None:
    """Let nobody look at a frame in this thread from now on."""
    _closed.add(threading.get_ident())


def frame_of(thread: int) -> FrameType | None:
    """Return what a thread is at; that is no hit."""
    _ours.asks = True
    try:
        return sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage]
    finally:
        _ours.asks = False


class Digging:
    """A watch, until it is stopped. The hook stays: Python lets none be taken out."""

    def __init__(self) -> None:
        self.hits: dict[str, None] = {}
        _watches.append(self)
        if not _hooked:
            _hooked.append(True)
            sys.addaudithook(_on_event)

    def stop(self) -> list[str]:
        """Watch no longer, and return each thing seen, once."""
        if self in _watches:
            _watches.remove(self)
        return [*self.hits]


def _on_event(event: str, args: tuple[Any, ...]) -> None:
    if not _watches or getattr(_ours, "asks", False):
        return
    if event in EVENTS or _is_a_look_at_ours(event, args):
        what = event
    elif event == "open" and _is_memory(args[0]):
        what = "the process's memory"
    else:
        return
    for watch in _watches:
        if len(watch.hits) < MAX_HITS:
            watch.hits[what] = None


def _is_a_look_at_ours(event: str, args: tuple[Any, ...]) -> bool:
    looks = event == "sys._getframe" or (event == "object.__getattr__" and args[1] in OWNERS)
    return looks and threading.get_ident() in _closed


def _is_memory(path: Any) -> bool:
    text = path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path)
    return text.startswith("/proc/") and text.rpartition("/")[2] in FILES
