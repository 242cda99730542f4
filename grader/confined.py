"""What reading a submission may take, and how the process that reads it shuts itself in.

A reader is a process for one part of what was handed in: it has its bytes on standard input, parses
them with code that others wrote in C, runs none of them, and says what it found on standard output.
Once it has imported what it needs it can do no more than that: it opens, starts and reaches
nothing. Standard library only.
"""

import codecs
import contextlib
import ctypes
import importlib
import platform
import re
import resource
import struct

CPU_SECONDS = 6  # for all that is handed in at once; an honest submission takes a tenth of one
MEMORY = 1 << 30  # of each reader
MOST_TRIES = 4  # of a notebook: what ends its reader is left out, and the rest is read
MOST_CELLS = 200  # for tasks, of one notebook
MOST_SOURCE = 1 << 18  # characters of one cell; an honest one has a fiftieth of it
MOST_CODE = 1 << 20  # bytes of a file, and characters of a notebook's cells for tasks
MOST_IMPORTS = 2_000  # of a file; an honest one has ten
TOO_SLOW = (
    f"needs more than the {CPU_SECONDS} s of processor time that reading a submission may take"
)

# What is left to a reader: x86_64, aarch64. Anything else is refused, and it goes on.
CALLS = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "exit": (60, 93),
    "sigaltstack": (131, 132),
    "futex": (202, 98),
    "clock_gettime": (228, 113),
    "exit_group": (231, 94),
    "getrandom": (318, 278),
}
CODECS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # of BPF: a word, a jump, an answer
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050001
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_CODING = re.compile(rb"\A(?:[^\n]*\n)?[^\n]*?coding[:=][ \t]*([-\w.]+)")


def confine(content: bytes = b"") -> None:
    """Shut this process in; codecs, also that which code names, are imported before.

    Where the kernel has no filters, or not for this machine, limits alone remain.
    """
    importlib.import_module("unicodedata")  # by which names are compared
    named = _CODING.match(content)
    for codec in (*CODECS, named[1].decode("ascii") if named else ""):
        with contextlib.suppress(LookupError, ValueError):
            codecs.lookup(codec)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # of files; a pipe is none
    if (code := _program()) is not None:
        _enter(code)


def _program() -> bytes | None:
    """Return the filter for this machine; None where its numbers are not known."""
    if platform.machine() not in _MACHINES:
        return None
    column, audit = _MACHINES[platform.machine()]
    numbers = [pair[column] for pair in CALLS.values()]
    code = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    # A jump counts the instructions between: the last two refuse and allow.
    code += [(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    code += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *operation) for operation in code)


def _enter(code: bytes) -> None:
    libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(code)
    held = struct.pack("H6xQ", len(code) // 8, ctypes.addressof(room))
    libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(_SET_SECCOMP, _FILTER, held, 0, 0)
