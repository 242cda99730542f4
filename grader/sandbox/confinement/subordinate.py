"""Users of the host for a judge that is not root: the subordinate ids of its account.

``newuidmap`` lets an account enter ids in a user namespace that ``/etc/subuid`` gives to it. In
there the judge's own user is root, and sandboxes are made as root makes them.
"""

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

from grader import ROOT
from grader.environment import To, crossing
from grader.errors import SandboxError

FILES = {"newuidmap": Path("/etc/subuid"), "newgidmap": Path("/etc/subgid")}
FOR_OTHERS = 0o005  # to read, and to look into folders


class NoUsers(SandboxError):
    """There are no users for sandboxes; says why."""


def enter(least: int) -> tuple[int, int, int]:
    """Return the first subordinate id, how many there are, and a user namespace that has them.

    In there 0 is the judge and 1 the first. Raises NoUsers.
    """
    missing = [name for name in ("newuidmap", "newgidmap", "nsenter") if not shutil.which(name)]
    if missing:
        raise NoUsers(f"the judge is not root, and there is no {missing[0]}")
    given = {command: _given(file) for command, file in FILES.items()}
    (first, count), groups = given["newuidmap"], given["newgidmap"]
    count = min(count, groups[1]) // least * least
    if count == 0:
        raise NoUsers(f"/etc/subuid and /etc/subgid give this account fewer than {least} ids")
    _assert_readable()
    own = {"newuidmap": os.geteuid(), "newgidmap": os.getegid()}
    try:
        with waiting(["unshare", "--user"]) as pid:
            for command, (start, _) in given.items():
                line = [command, str(pid), "0", str(own[command]), "1", "1", str(start), str(count)]
                subprocess.run(line, env=crossing(To.TOOL), check=True, capture_output=True)
            return first, count, os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise NoUsers(said or f"{error.cmd[0]} failed") from None
    except SandboxError as error:
        raise NoUsers(error.message) from None


@contextlib.contextmanager
def waiting(command: list[str]) -> Generator[int, None, None]:
    """Give the number of a process that is inside of what a command makes, and waits there."""
    with subprocess.Popen(
        [*command, "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        bufsize=0,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended already
            process.stdin.write(b"\n")
        if not process.stdout.read(1):  # an answer comes from inside
            raise SandboxError(f"{command[0]} cannot make a user namespace")
        yield process.pid
        process.stdin.close()


def _given(file: Path) -> tuple[int, int]:
    """Return the first range that a file gives to this account."""
    names = {str(os.geteuid())}
    with contextlib.suppress(KeyError):
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, _, numbers = line.partition(":")
            if name in names:
                first, count = map(int, numbers.split(":"))
                return first, count
    raise NoUsers(f"the judge is not root, and {file} gives its account no ids")


def _assert_readable() -> None:
    """Raise NoUsers where files of ours are closed to others: that is what workers become."""
    for folder in (ROOT / "labs", Path(sys.prefix), Path(sys.base_prefix)):
        if folder.exists() and folder.stat().st_mode & FOR_OTHERS != FOR_OTHERS:
            raise NoUsers(f"other users cannot look into {folder}")
