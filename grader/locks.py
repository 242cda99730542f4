"""Locks that all gradings of a machine share: files, held by whoever has them locked."""

import fcntl
import os

from grader.environment import lock_folder


def open_lock(name: str) -> int:
    """Open the lock of that name; it is held through this descriptor, and given up with it."""
    path = lock_folder() / f"inferlab.{name}.lock"
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.fchmod(handle, 0o644)  # for judges of other accounts, whatever our umask
        return handle


def take_one(kind: str, count: int) -> int | None:
    """Take one of ``count`` locks of a kind, by its descriptor; None if others have them all."""
    for number in range(count):
        fd = open_lock(f"{kind}{number}")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
        else:
            return fd
    return None
