"""Calls of git: their output, their faults, and nothing else that runs."""

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.git import LIMITS, environment, git, git_bytes
from grader.errors import GitError

AUTHOR = {
    f"GIT_{role}_{what}": f"{value}"
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Course"), ("EMAIL", "course@example.org"))
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", folder=folder)
    (folder / "naïve.txt").write_text("text\n")
    git("add", ".", folder=folder)
    git("commit", "-q", "-m", "Add a text", folder=folder, env=AUTHOR)
    return folder


def test_output_comes_without_the_last_newline(repository: Path) -> None:
    assert git("ls-files", folder=repository) == "naïve.txt"
    assert git_bytes("cat-file", "blob", "HEAD:naïve.txt", folder=repository) == b"text\n"
    assert len(git("hash-object", "--stdin", folder=repository, stdin=b"text\n")) == 40


def test_a_fault_is_the_line_in_which_git_says_why(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(GitError, match=r"^git fetch: '/nowhere' does not appear to be a git"):
        git("fetch", "/nowhere", folder=repository)
    with pytest.raises(GitError, match=r"^git status: cannot change to '.*gone'"):
        git("status", folder=tmp_path / "gone")


def test_what_ssh_says_of_a_host_is_the_reason(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\necho 'git@host: Permission denied (publickey).' >&2\nexit 255\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    with pytest.raises(GitError, match=r"^git fetch: git@host: Permission denied \(publickey\)\.$"):
        git("fetch", "ssh://git@host/labs.git", folder=repository)


def test_a_repository_of_another_user_is_a_line_that_says_what_helps(repository: Path) -> None:
    other = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}

    with pytest.raises(GitError, match=r"repository/\.git belongs to another user.*use ssh://"):
        git("ls-remote", os.fspath(repository), folder=repository, env=other)


def test_a_repository_starts_no_program(repository: Path, tmp_path: Path) -> None:
    touch = tmp_path / "touch.sh"
    touch.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    touch.chmod(0o755)
    for hook in ("pre-commit", "post-checkout", "reference-transaction", "post-index-change"):
        os.symlink(touch, repository / ".git" / "hooks" / hook)
    for key in ("core.fsmonitor", "core.sshCommand", "filter.lfs.clean", "filter.lfs.smudge"):
        git("config", key, str(touch), folder=repository)
    (repository / ".gitattributes").write_text("*.bin filter=lfs\n")
    (repository / "large.bin").write_text("content\n")

    git("add", ".", folder=repository)
    git("commit", "-q", "-m", "Add a large file", folder=repository, env=AUTHOR)
    (repository / "large.bin").unlink()
    git("checkout", "-q", "main", "--", "large.bin", folder=repository)
    with pytest.raises(GitError):
        git("fetch", "ssh://nobody@localhost:9/x", folder=repository)
    with pytest.raises(GitError, match="transport 'ext' not allowed"):
        git("fetch", f"ext::{touch}", folder=repository)

    assert (repository / "large.bin").read_text() == "content\n"
    assert not (tmp_path / "ran").exists()


def test_a_users_own_settings_do_not_count(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    assert git("rev-parse", "--show-toplevel", folder=repository) == str(repository)
    with pytest.raises(GitError):
        git("config", "user.name", folder=repository)
    assert "GIT_DIR" not in environment()


def test_what_takes_too_long_is_killed_with_its_children(repository: Path, tmp_path: Path) -> None:
    script = tmp_path / "sleep.sh"
    script.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nsleep 600\n")
    script.chmod(0o755)
    slow = {"GIT_SSH_COMMAND": str(script)}
    began = time.monotonic()

    with pytest.raises(GitError, match=r"^git fetch took longer than 1 s$"):
        git("fetch", "ssh://host/x", folder=repository, limits=replace(LIMITS, seconds=1), env=slow)

    assert time.monotonic() - began < 300  # it did not wait for the sleeper
    pid = (tmp_path / "pid").read_text().strip()
    stat = subprocess.run(["ps", "-o", "stat=", "-p", pid], capture_output=True, text=True).stdout
    assert stat.strip()[:1] in ("", "Z")
