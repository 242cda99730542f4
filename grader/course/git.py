"""Every call of git: limited, and with nothing of a repository's or a user's that runs programs.

Repositories of students are hostile. Hooks, filters (LFS), submodules, the file-system monitor,
protocols that name a command and every configuration but the repository's own are off, and no call
waits for a password; credentials come from an SSH agent or key, or from ``~/.netrc``. A few bytes
can stand for gigabytes, of a tree or of a delta: memory, processor time, output and the size of
what is written have limits, and objects are checked as they come (``fetch.fsckObjects``).
"""

import os
import re
import shutil
from collections.abc import Generator, Mapping
from pathlib import Path

from grader.environment import To, crossing
from grader.errors import GitError, GitLimit
from grader.limited import Ended, Limits, Resource, open_stream, run

MIB = 1 << 20
OFFLINE = {"GIT_ALLOW_PROTOCOL": "none"}  # else git would fetch an object that it misses
# For what others wrote; docs/course.md says what an honest repository takes of it.
LIMITS = Limits(seconds=120.0, cpu_seconds=60, memory=512 * MIB, output=16 * MIB, file=16 * MIB)
# For the instructors' own repository, whatever its size.
OWN = Limits(seconds=600.0, output=2048 * MIB)
OTHER_END = "at the other end"  # how a reason begins that upload-pack gives
BIG_FILE = 16 * MIB  # from here on git copies a file without holding it
# What a fetch is not refused for: names, dates and zones, of which we read seconds alone.
HARMLESS = (
    *("badDate", "badDateOverflow", "missingSpaceBeforeDate", "zeroPaddedDate", "badTimezone"),
    *("badEmail", "badName", "missingEmail", "missingNameBeforeEmail", "missingSpaceBeforeEmail"),
    *("multipleAuthors", "zeroPaddedFilemode"),
)
# The repository's own configuration cannot override what stands on the command line.
_OPTIONS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "core.commitGraph": "false",
    "core.bigFileThreshold": str(BIG_FILE),
    # Together these hold a pack of any size in little address space.
    "core.packedGitWindowSize": str(16 * MIB),
    "core.packedGitLimit": str(64 * MIB),
    "core.deltaBaseCacheLimit": str(16 * MIB),
    "pack.threads": "1",
    "pack.windowMemory": str(32 * MIB),
    "credential.helper": "",
    "filter.lfs.smudge": "",
    "filter.lfs.clean": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "log.showSignature": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "fetch.fsckObjects": "true",
    "transfer.fsckObjects": "true",
    # One pack, so that its size is the size of all.
    "fetch.unpackLimit": "1",
    "fetch.writeCommitGraph": "false",
    "transfer.bundleURI": "false",
    # Else a student's host could lead us, with our passwords, to what is another student's.
    "http.followRedirects": "false",
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "protocol.ssh.allow": "always",
    "protocol.https.allow": "always",
    "protocol.http.allow": "always",
    "protocol.git.allow": "always",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    **{f"fetch.fsck.{name}": "ignore" for name in HARMLESS},
}
_FOREIGN = re.compile(r"detected dubious ownership in repository at '(.+)'")
_ELSEWHERE = re.compile(r"unable to access '.+ returned error: 30\d$")
_SET = {
    "LC_ALL": "C",
    # The other end of a path on this machine reads no command line of ours.
    "GIT_CONFIG_GLOBAL": os.fspath(Path(__file__).with_name("other_end.gitconfig")),
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_PROXY_COMMAND": "",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",  # else an object that is missing makes git start git without end
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


def git(
    *args: str,
    folder: Path,
    limits: Limits = LIMITS,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> str:
    """Run git in ``folder`` and return its output without the last newline.

    ``env`` adds to a small environment. A failure raises ``GitError`` with the line that says why;
    at a limit git is killed with all its children, which raises ``GitLimit``.
    """
    done = git_bytes(*args, folder=folder, limits=limits, env=env, stdin=stdin)
    return done.decode("utf-8", "surrogateescape").removesuffix("\n")


def git_bytes(
    *args: str,
    folder: Path,
    limits: Limits = LIMITS,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> bytes:
    """Run git like ``git`` and return its output as it is."""
    try:
        ended = run(
            [*command(folder), *args], limits, stdin=stdin, env=environment() | dict(env or {})
        )
    except FileNotFoundError as error:
        raise _absent(error) from None
    _check(ended, args, limits)
    return ended.output


def git_lines(
    *args: str,
    folder: Path,
    limits: Limits = LIMITS,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> Generator[bytes]:
    """Run git like ``git`` and yield each line as it comes: no more than one is held."""
    stream = open_stream(
        [*command(folder), *args], limits, stdin=stdin, env=environment() | dict(env or {})
    )
    rest = b""
    try:
        while True:
            *lines, rest = (rest + next(stream)).split(b"\n")
            if len(rest) > MIB:
                raise GitLimit(f"git {_name(args)}: a line is longer than 1 MiB", Resource.OUTPUT)
            yield from lines
    except StopIteration as stop:
        _check(stop.value, args, limits)
    except FileNotFoundError as error:
        raise _absent(error) from None
    finally:
        stream.close()
    if rest:
        yield rest


def command(folder: Path) -> list[str]:
    """Return the start of a git command line that works in ``folder``."""
    line = ["git", "-C", os.fspath(folder), "--literal-pathspecs"]
    for key, value in _OPTIONS.items():
        line += ["-c", f"{key}={value}"]
    return line


def environment() -> dict[str, str]:
    """Return the whole environment of a git process."""
    return crossing(To.GIT) | _SET


def _name(args: tuple[str, ...]) -> str:
    return next((arg for arg in args if not arg.startswith("-")), "")


def _absent(error: FileNotFoundError) -> GitError:
    missing = os.fspath(error.filename or "git")
    return GitError(f"{missing} is not installed", "apt install git util-linux")


def _check(ended: Ended, args: tuple[str, ...], limits: Limits) -> None:
    """Raise what a failure means."""
    name = f"git {_name(args)}"
    if ended.over is not None:
        raise GitLimit(f"{name} {limits.told(ended.over)}", ended.over)
    if ended.status and not shutil.which("git"):
        raise GitError("git is not installed", "apt install git")
    if ended.status < 0:
        raise GitError(f"{name} broke down (signal {-ended.status})")
    if ended.status:
        raise GitError(f"{name}: {_reason(ended.told) or f'exit code {ended.status}'}")


def _reason(told: bytes) -> str:
    """Return the first line that names a fault; consequences and advice come after it.

    What ssh says of a host or a key stands before git's own line, which knows nothing of it.
    """
    lines = [line.strip() for line in told.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    faults = [line for line in lines if line.startswith(("fatal:", "error:", "!"))]
    reason = (faults[:1] or lines[-1:] or [""])[0].removeprefix("fatal: ").removeprefix("error: ")
    far = [line.removeprefix("remote: ") for line in lines if line.startswith("remote: fatal:")]
    if far and "upload-pack" in reason:
        return f"{OTHER_END}: {far[0].removeprefix('fatal: ')}"
    if reason.startswith("Could not read from remote"):
        reason = (lines[: lines.index(faults[0])] or [reason])[-1]
    if _ELSEWHERE.search(reason):
        return f"{reason}: it leads to another address, which may be anybody's; name that one"
    if foreign := _FOREIGN.search(reason):
        why = "belongs to another user, whom git does not trust: use ssh://, or be that user"
        return f"{foreign[1]} {why}"
    return reason
