"""Host users for sandboxes: each holds a block of ids that none beside it has, whoever judges.

The workers of one host user share what the kernel counts by user: watches of epoll, descriptors in
flight, memory of pipes, signals that wait, message queues. So as root each gets a user of its own,
out of a range that is ours alone. A block is taken by a lock on its place in one file of the
machine. The lock lies in a descriptor that the sandbox keeps open: however judge and sandbox end,
it ends with them. Who still runs as one of the block's users keeps it from being taken, too.
"""

import fcntl
import os
import secrets
import struct
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from grader.errors import SandboxError

# Whom a worker takes itself for; and the user of all where they are not divided.
NOBODY = 65534
# No accounts, subordinate ids or containers are here by the habits of distributions and systemd.
FIRST, COUNT = 2_100_000_000, 65_536
BLOCK = 64  # the first one's own, and one for each that it forks
RANGE = "INFERLAB_UIDS"  # names another range
RANGE_HINT = f"set {RANGE} to FIRST:COUNT, numbers of users and groups that nobody else has"
LOCKS = Path("/run/inferlab.uids.lock")
FLOCK = "hhqqi4x"  # struct flock: kind, from where, start, length, process


@dataclass(frozen=True, slots=True)
class Block:
    """Users of one sandbox, and groups of the same numbers; taken as long as ``lock`` is open."""

    first: int
    lock: int
    namespace: int | None  # that has these users and no other, for what forks

    @property
    def descriptors(self) -> list[int]:
        """Return what a sandbox needs, and we only until it has started."""
        return [self.lock] if self.namespace is None else [self.lock, self.namespace]


def take(*, forks: bool = False) -> Block:
    """Take a block that is free; raises SandboxError if there is none."""
    lock = _open_locks()
    try:
        first = _free(lock)
        return Block(first, lock, _namespace(first) if forks else None)
    except BaseException:
        os.close(lock)
        raise


def _free(lock: int) -> int:
    """Lock a block of which nobody is alive, beginning anywhere; return its first user."""
    first, count = bounds()
    number = count // BLOCK
    start = secrets.randbelow(number)
    for index in range(number):
        found = first + (start + index) % number * BLOCK
        if _lock(lock, found, fcntl.F_WRLCK):
            if not any(map(is_alive, range(found, found + BLOCK))):
                return found
            _lock(lock, found, fcntl.F_UNLCK)
    raise SandboxError(f"all users from {first} to {first + count - 1} are taken", RANGE_HINT)


@cache
def undivided() -> str:
    """Return why all workers are one user of this machine, or an empty string."""
    if os.geteuid() != 0:
        return "the judge is not root"
    first, count = bounds()
    for name in ("uid_map", "gid_map"):
        lines = Path("/proc/self", name).read_text().splitlines()
        known = [(int(low), int(size)) for low, _, size in map(str.split, lines)]
        if not any(low <= first and first + count <= low + size for low, size in known):
            return f"this container has no users from {first} to {first + count - 1}"
    try:
        os.close(_open_locks())
    except OSError as error:
        return f"{LOCKS} cannot be opened: {error.strerror}"
    return ""


def bounds() -> tuple[int, int]:
    """Return the first user of our range, and how many there are."""
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
    """Tell whether any process that we can see runs as a user."""
    try:
        os.getpriority(os.PRIO_USER, user)
    except ProcessLookupError:
        return False
    return True


def become(user: int) -> list[str]:
    """Return the command that runs another one as a user, without rights."""
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]


def _namespace(first: int) -> int:
    """Return a descriptor of a user namespace that has the users of a block and no other.

    Its maker, the first of them, may enter himself there; all of them root must enter.
    """
    line = [*become(first), "unshare", "--user", "cat"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        if not process.stdout.read(1):  # an answer comes from inside
            raise SandboxError("no user namespace can be made")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{process.pid}", name).write_text(f"{first} {first} {BLOCK}")
        found = os.open(f"/proc/{process.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        process.stdin.close()
    return found


def _open_locks() -> int:
    return os.open(LOCKS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _lock(lock: int, first: int, kind: int) -> bool:
    """Lock a block or let it go; it is the descriptor that has the lock, not the process."""
    try:
        place = struct.pack(FLOCK, kind, os.SEEK_SET, first, BLOCK, 0)
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, place)
    except BlockingIOError:
        return False
    return True
