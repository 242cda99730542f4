"""Host users for sandboxes: each holds a block of ids that none beside it has, whoever judges.

The workers of one host user share what the kernel counts by user: watches of epoll, descriptors in
flight, memory of pipes, signals that wait, message queues. So each gets a user of its own: as root
out of a range that is ours alone, else out of the account's subordinate ids (``subordinate``). A
block is taken by a lock on its place in a file. The lock lies in a descriptor that the sandbox
keeps open: however judge and sandbox end, it ends with them. Who still runs as one of the block's
users keeps it from being taken, too.
"""

import contextlib
import fcntl
import os
import secrets
import struct
import subprocess
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.environment import lock_folder
from grader.errors import SandboxError
from grader.sandbox.confinement import subordinate

# Whom a worker takes itself for; as root, the user of all where they are not divided.
NOBODY = 65534
# No accounts, subordinate ids or containers are here by the habits of distributions and systemd.
FIRST, COUNT = 2_100_000_000, 65_536
BLOCK = 64  # the first one's own, and one for each that it forks
RANGE = "INFERLAB_UIDS"  # names another range for root
RANGE_HINT = f"set {RANGE} to FIRST:COUNT, numbers of users and groups that nobody else has"
LOCKS = Path("/run/inferlab.users.lock")
FLOCK = "hhqqi4x"  # struct flock: kind, from where, start, length, process


@dataclass(frozen=True, slots=True)
class Range:
    """The users that there are for sandboxes."""

    first: int  # as the host knows it
    count: int
    known: int  # the same one, as the namespace knows it that they are in
    namespace: int | None  # its descriptor, where it is not the judge's own


@dataclass(frozen=True, slots=True)
class Block:
    """Users of one sandbox, and groups of the same numbers; taken as long as ``lock`` is open."""

    first: int
    lock: int
    namespace: int | None  # that knows no others, for what forks
    enter: tuple[str, ...]  # the command that runs another one as root among them

    @property
    def descriptors(self) -> list[int]:
        """Return what a sandbox needs, and we only until it has started."""
        return [self.lock] if self.namespace is None else [self.lock, self.namespace]


def take(*, forks: bool = False) -> Block:
    """Take a block that is free; raises SandboxError if there is none."""
    users = ours()
    # By its place with us, so that nobody inherits it.
    place = f"--user=/proc/{os.getpid()}/fd/{users.namespace}"
    enter = ("nsenter", place) if users.namespace is not None else ()
    with contextlib.ExitStack() as undo:
        try:
            lock = _open(_locks())
            undo.callback(os.close, lock)
            first = _free(users, lock)
            namespace = _namespace(first, enter) if forks else None
        except (OSError, subprocess.CalledProcessError) as error:
            raise SandboxError(f"a sandbox gets no users of its own: {error}") from None
        undo.pop_all()
    return Block(first, lock, namespace, enter)


def _free(users: Range, lock: int) -> int:
    """Lock a block of which nobody is alive, beginning anywhere; return its first user."""
    number = users.count // BLOCK
    start = secrets.randbelow(number)
    for index in range(number):
        offset = (start + index) % number * BLOCK
        found = users.first + offset
        if _lock(lock, found, fcntl.F_WRLCK):
            if not any(map(is_alive, range(found, found + BLOCK))):
                return users.known + offset
            _lock(lock, found, fcntl.F_UNLCK)
    last = users.first + users.count - 1
    raise SandboxError(f"all users from {users.first} to {last} are taken", RANGE_HINT)


@cache
def obstacle() -> str:
    """Return why users cannot be divided here, or an empty string."""
    try:
        ours()
        os.close(_open(_locks()))
    except subordinate.NoUsers as error:
        return error.message
    except OSError as error:
        return f"{_locks()} cannot be opened: {error.strerror}"
    return ""


@cache
def ours() -> Range:
    """Return the users that there are; raises NoUsers if there are none."""
    if os.geteuid() != 0:
        first, count, namespace = subordinate.enter(BLOCK)
        return Range(first, count, 1, namespace)
    first, count = bounds()
    for name in ("uid_map", "gid_map"):
        lines = Path("/proc/self", name).read_text().splitlines()
        known = [(int(low), int(size)) for low, _, size in map(str.split, lines)]
        if not any(low <= first and first + count <= low + size for low, size in known):
            raise subordinate.NoUsers(f"there are none from {first} on in this container")
    return Range(first, count, first, None)


def bounds() -> tuple[int, int]:
    """Return root's range: its first user, and how many there are."""
    wanted = os.environ.get(RANGE)
    if wanted is None:
        return FIRST, COUNT
    numbers = wanted.split(":")
    if len(numbers) != 2 or not all(map(str.isdecimal, numbers)):
        raise SandboxError(f"{RANGE} is {wanted!r}", RANGE_HINT)
    first, count = map(int, numbers)
    if first == 0 or count < BLOCK:
        raise SandboxError(f"{RANGE} is {wanted!r}: not root, and at least {BLOCK}", RANGE_HINT)
    return first, count


def is_alive(user: int) -> bool:
    """Tell whether any process that we can see runs as a user of the host."""
    try:
        os.getpriority(os.PRIO_USER, user)
    except ProcessLookupError:
        return False
    return True


def become(user: int) -> list[str]:
    """Return the command that runs another one as a user, without rights."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def _namespace(first: int, enter: Sequence[str]) -> int:
    """Return a descriptor of a user namespace that has the users of a block and no other.

    Its maker, the first of them, may enter himself there; all of them root must enter.
    """
    with subordinate.waiting([*enter, *become(first), "unshare", "--user"]) as pid:
        text = f"{first} {first} {BLOCK}\n".encode()
        for place in (f"/proc/{pid}/uid_map", f"/proc/{pid}/gid_map"):
            if enter:
                line = [*enter, "tee", place]
                subprocess.run(line, input=text, stdout=subprocess.DEVNULL, check=True, env={})
            else:
                Path(place).write_bytes(text)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def in_turn(*, alone: bool) -> Generator[None, None, None]:
    """Hold a place among the gradings whose workers are one user: alone, or beside some that are
    not. It ends with the process, however that ends.
    """
    lock = _open(_own("ranks"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def _own(kind: str) -> Path:
    """Return a file of this account's, one for all its judges."""
    return lock_folder() / f"inferlab.{kind}{os.geteuid()}.lock"


def _locks() -> Path:
    return LOCKS if os.geteuid() == 0 else _own("users")


def _open(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _lock(lock: int, first: int, kind: int) -> bool:
    """Lock a block or let it go; it is the descriptor that has the lock, not the process."""
    try:
        place = struct.pack(FLOCK, kind, os.SEEK_SET, first, BLOCK, 0)
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, place)
    except BlockingIOError:
        return False
    return True
