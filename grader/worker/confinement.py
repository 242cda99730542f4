"""The walls that a forked worker makes around itself, before it reads anything of a submission.

They are those of ``sandbox/confinement``, made from within: what a worker is forked from lies in
a sandbox of bubblewrap that shows what any worker sees, all of it read-only but scratch. A user
namespace of the worker's own makes that final: mounts which have come into it cannot be loosened
or taken away, only covered. Nobody undoes what is done here, and any step that fails raises.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
from collections.abc import Collection
from pathlib import Path
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
NOBODY = 65534

# Of users, processes, IPC, network, host name and control groups.
NAMESPACES = 0x10000000 | 0x20000000 | 0x8000000 | 0x40000000 | 0x4000000 | 0x2000000
MOUNTS = 0x20000
NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 4, 22, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, CLEAR_ALL, FILTER = 38, 47, 4, 2
CAPABILITIES = struct.pack("Ii", 0x20080522, 0)  # of the calling thread, in two words
INSTRUCTION = 8  # bytes of a filter


def die_with_parent() -> None:
    """Let this process be killed when its parent ends."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def divide(user: int | None) -> None:
    """Enter namespaces of our own; in that of processes it is the next child who comes first.

    First we become a ``user`` of the host, if there is one for us; in here it is called nobody.
    Mounts are left to that child: what waits outside still wants the old ``/proc``.
    """
    if user is not None:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        show_itself(True)  # else root alone could fill in what follows
    own = {"uid_map": os.geteuid(), "gid_map": os.getegid()}
    _checked(LIBC.unshare(NAMESPACES))
    maps = {"setgroups": "deny"}
    for name, number in own.items():
        maps[name] = f"{number if user is None else NOBODY} {number} 1"
    for name, text in maps.items():
        Path("/proc/self", name).write_text(text)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(sock, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def furnish(folder: str, scratch: str) -> None:
    """Cover what is shared with what is private; ``scratch`` are the bytes of each tmpfs.

    Of the folders in ``/folder`` the worker sees its own, and that in their place.
    """
    _checked(LIBC.unshare(MOUNTS))
    mount("none", "/", "", REC | PRIVATE)
    mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    for place in ("/tmp", "/dev/shm"):
        mount("tmpfs", place, "tmpfs", NOSUID | NODEV, f"size={scratch},mode=1777")
    mount(f"/folder/{folder}", "/folder", "", BIND)
    os.chdir("/tmp")


def give_up_rights(program: bytes) -> None:
    """Give up every right for good, and the system calls that a filter refuses.

    Nobody can see into this process from now on, not even one with the same user id.
    """
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_CAP_AMBIENT, CLEAR_ALL)
    for number in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        prctl(PR_CAPBSET_DROP, number)
    _checked(LIBC.capset(CAPABILITIES, bytes(24)))
    show_itself(False)
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: how many instructions, where they are.
    fprog = struct.pack("HP", len(program) // INSTRUCTION, ctypes.addressof(code))
    prctl(PR_SET_SECCOMP, FILTER, fprog)


def show_itself(shown: bool) -> None:
    """Let processes of the same user look into this one, or not."""
    prctl(PR_SET_DUMPABLE, int(shown))


def reap(pid: int) -> int:
    """Wait for whatever ends here until a child does; return how it ended, as bubblewrap does."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def close_all_but(kept: Collection[int]) -> None:
    """Close every descriptor that is not kept."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd not in kept:
            with contextlib.suppress(OSError):  # that of the list itself
                os.close(fd)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount, or raise OSError."""
    texts = [text.encode() or None for text in (source, target, kind)]
    _checked(LIBC.mount(*texts, ctypes.c_ulong(flags), options.encode() or None), target)


def prctl(option: int, *arguments: Any) -> None:
    """Ask something of the kernel for this process, or raise OSError."""
    words = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))  # some options insist on it
    _checked(LIBC.prctl(option, *words), f"prctl {option}")


def _checked(result: int, what: str = "") -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), what or None)
