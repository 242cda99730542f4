"""Every call of git, with nothing of a repository's or a user's that runs programs.

Repositories of students are hostile: hooks, filters (LFS), submodules, the file-system monitor,
protocols that name a command and every configuration but the repository's own are off, and no call
waits for a password. Credentials come from an SSH agent or key, or from ``~/.netrc``.
"""

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from grader.errors import GitError

SECONDS = 120.0
# The repository's own configuration cannot override what stands on the command line.
_OPTIONS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "credential.helper": "",
    "filter.lfs.smudge": "",
    "filter.lfs.clean": "",
    "filter.lfs.process": "",
    "filter.lfs.required": "false",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
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
}
_KEPT = (
    *("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "http_proxy"),
    *("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
)
_FOREIGN = re.compile(r"detected dubious ownership in repository at '(.+)'")
_SET = {
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=20",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",  # else an object that is missing makes git start git without end
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}


def git(
    *args: str,
    folder: Path,
    timeout: float = SECONDS,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
) -> str:
    """Run git in ``folder`` and return its output without the last newline.

    ``env`` adds to a small environment. A failure raises ``GitError`` with the line that says why;
    one that takes longer than ``timeout`` seconds is killed with all its children.
    """
    done = git_bytes(*args, folder=folder, timeout=timeout, env=env, stdin=stdin)
    return done.decode("utf-8", "surrogateescape").removesuffix("\n")


def git_bytes(
    *args: str,
    folder: Path,
    timeout: float = SECONDS,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    file_limit: int = 0,
) -> bytes:
    """Run git like ``git`` and return its output as it is.

    With a ``file_limit`` it is killed before it writes a file of more bytes, a pack included.
    """
    name = next((arg for arg in args if not arg.startswith("-")), "")
    pipe = subprocess.PIPE
    limit = ["prlimit", f"--fsize={file_limit}"] if file_limit else []
    try:
        process = subprocess.Popen(
            [*limit, *command(folder), *args],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env=environment() | dict(env or {}),
            start_new_session=True,
        )
    except FileNotFoundError:
        raise GitError("git is not installed", "apt install git") from None
    with process:
        try:
            out, told = process.communicate(stdin, timeout)
        except BaseException as error:
            # The whole session: a transport that was left behind would keep the pipes open.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(f"git {name} took longer than {timeout:g} s") from None
            raise
    if process.returncode:
        raise GitError(f"git {name}: {_reason(told) or f'exit code {process.returncode}'}")
    return out


def command(folder: Path) -> list[str]:
    """Return the start of a git command line that works in ``folder``."""
    line = ["git", "-C", os.fspath(folder), "--literal-pathspecs"]
    for key, value in _OPTIONS.items():
        line += ["-c", f"{key}={value}"]
    return line


def environment() -> dict[str, str]:
    """Return the whole environment of a git process."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | _SET


def _reason(told: bytes) -> str:
    """Return the first line that names a fault; consequences and advice come after it.

    What ssh says of a host or a key stands before git's own line, which knows nothing of it.
    """
    lines = [line.strip() for line in told.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    faults = [line for line in lines if line.startswith(("fatal:", "error:", "!"))]
    reason = (faults[:1] or lines[-1:] or [""])[0].removeprefix("fatal: ").removeprefix("error: ")
    if reason.startswith("Could not read from remote"):
        reason = (lines[: lines.index(faults[0])] or [reason])[-1]
    if foreign := _FOREIGN.search(reason):
        why = "belongs to another user, whom git does not trust: use ssh://, or be that user"
        return f"{foreign[1]} {why}"
    return reason
