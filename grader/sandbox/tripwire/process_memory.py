"""The memory of another process, read from outside by ``process_vm_readv``."""

import contextlib
import ctypes
import os
import select
import struct
from collections.abc import Sequence
from pathlib import Path

AT_A_TIME = 1024  # IOV_MAX
PIECE = struct.Struct("=QQ")  # struct iovec: where, how many bytes


ALONE = ("Private_Clean:", "Private_Dirty:", "Swap:")  # of /proc/PID/smaps_rollup, in KiB


class Gone(Exception):
    """The process has ended."""


class Refused(Exception):
    """The kernel, or its settings, do not let us look."""


class Unmapped(Exception):
    """Nothing lies at an address any more."""


class Pieces:
    """Pieces of a process's memory, to be read together again and again."""

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        """``ranges`` are addresses and sizes in bytes."""
        self._asked = bytearray(b"".join(PIECE.pack(*item) for item in ranges))
        sizes = [size for _, size in ranges]
        self.bytes = bytearray(sum(sizes) or 1)
        parts = range(0, len(ranges), AT_A_TIME)
        self.parts = [
            (at, min(AT_A_TIME, len(ranges) - at), sum(sizes[at : at + AT_A_TIME])) for at in parts
        ]

    def asked(self, place: int) -> ctypes.c_char:
        """Return what tells the kernel of a piece, and of those behind it."""
        return ctypes.c_char.from_buffer(self._asked, place * PIECE.size)


def private_bytes(pid: int) -> int | None:
    """Return the bytes that a process shares with no other; None where the kernel does not tell.

    Memory counts that it has written since it was forked, and memory files that only it maps.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        sizes = {name: int(size) for name, size, *_ in map(str.split, lines[1:])}
    except (OSError, ValueError):
        return None
    return sum(sizes[name] << 10 for name in ALONE if name in sizes) or None


class ProcessMemory:
    """One process. It is known by a descriptor too, since its number may become another's."""

    def __init__(self, pid: int) -> None:
        """Raise Gone, or Refused."""
        self.pid = pid
        self._read = ctypes.CDLL(None, use_errno=True).process_vm_readv
        self._read.restype = ctypes.c_ssize_t
        try:
            self._pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            raise Gone from None
        except OSError:
            raise Refused from None
        self._ended = select.poll()
        self._ended.register(self._pidfd, select.POLLIN)

    def read(self, pieces: Pieces) -> bytes:
        """Return all pieces, one after the other."""
        done = 0
        for place, count, size in pieces.parts:
            into = PIECE.pack(ctypes.addressof(ctypes.c_char.from_buffer(pieces.bytes, done)), size)
            got = self._read(
                ctypes.c_int(self.pid),
                *(into, ctypes.c_ulong(1)),
                *(ctypes.byref(pieces.asked(place)), ctypes.c_ulong(count), ctypes.c_ulong(0)),
            )
            code = ctypes.get_errno() if got < 0 else 0
            if self._ended.poll(0):
                raise Gone
            if code == 3:  # ESRCH: it is ending
                raise Gone
            if code in (1, 38):  # EPERM, ENOSYS
                raise Refused
            if got != size:
                raise Unmapped
            done += size
        return bytes(memoryview(pieces.bytes)[:done])

    def at(self, address: int, size: int) -> bytes:
        """Return the bytes at an address."""
        return self.read(Pieces([(address, size)]))

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end of the process; False if it does not come so soon."""
        return bool(self._ended.poll(seconds * 1000))

    def close(self) -> None:
        """Forget the process."""
        with contextlib.suppress(OSError):
            os.close(self._pidfd)
