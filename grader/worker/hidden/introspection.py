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
GIVERS = frozenset({"inspect", "traceback", "logging", "bdb", "pdb"})  # of frames to who asks
FILES = ("mem", "maps", "smaps", "pagemap", "numa_maps")  # of /proc, for a process
MAX_HITS = 10

_watches: list["Introspection"] = []
_hooked: list[bool] = []
_ours = threading.local()  # whether this thread asks for the judge


def own_frame(depth: int) -> FrameType:
    """Return the frame ``depth`` calls above the caller's; that is no hit."""
    _ours.asks = True
    try:
        return sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
    finally:
        _ours.asks = False


class Introspection:
    """A watch, until it is stopped. The hook stays: Python lets none be taken out.

    It hears of frames of this thread too, where the submission's code asks for them, itself or
    through a module that gives them away.
    """

    def __init__(self) -> None:
        self.hits: dict[str, None] = {}
        _watches.append(self)
        if not _hooked:
            _hooked.append(True)
            sys.addaudithook(_on_event)

    def hit(self, what: str) -> None:
        """Note a thing once."""
        if len(self.hits) < MAX_HITS:
            self.hits[what] = None

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
        watch.hit(what)


def _is_a_look_at_ours(event: str, args: tuple[Any, ...]) -> bool:
    if event != "sys._getframe" and (event != "object.__getattr__" or args[1] not in OWNERS):
        return False
    return _is_asked_by_submission(own_frame(2))


def _is_asked_by_submission(frame: FrameType) -> bool:
    if _module(frame) in GIVERS and frame.f_back is not None:
        frame = frame.f_back
    library = "-packages/" in frame.f_code.co_filename
    return not library and _module(frame) not in ("grader", *sys.stdlib_module_names)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_memory(path: Any) -> bool:
    text = path.decode("utf-8", "replace") if isinstance(path, bytes) else str(path)
    return text.startswith("/proc/") and text.rpartition("/")[2] in FILES
