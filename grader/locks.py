"""Locks that all gradings of a machine share: files, held by whoever has them locked."""

import fcntl
import os
import time

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


class Turns:
    """A place that many share or one has alone, and in which nobody overtakes who waits for it.

    Who wants a place waits at a door, one at a time; so who waits to be alone is not kept waiting
    by those that come later and would share. It ends with the process, however that ends.
    """

    def __init__(self, name: str) -> None:
        self._place = open_lock(name)
        self._door = open_lock(f"{name}.door")

    def take(self, *, alone: bool) -> float:
        """Give up what is held and wait for a place; return the seconds of waiting."""
        started = time.monotonic()
        fcntl.flock(self._place, fcntl.LOCK_UN)
        fcntl.flock(self._door, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._place, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        finally:
            fcntl.flock(self._door, fcntl.LOCK_UN)
        return time.monotonic() - started

    @property
    def awaited(self) -> bool:
        """Whether somebody waits, perhaps for us to go."""
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._door, fcntl.LOCK_UN)
        return False

    def close(self) -> None:
        """Give the place up."""
        os.close(self._place)
        os.close(self._door)


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
