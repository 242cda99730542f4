"""Calls of git: their output, their faults, and nothing else that runs."""

import os
import resource
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.git import LIMITS, environment, git, git_bytes, git_lines
from grader.errors import GitError, GitLimit
from grader.limited import Resource

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


def test_no_more_output_is_read_than_may_be(repository: Path) -> None:
    (repository / "large").write_bytes(b"x" * 300_000)
    blob = git("hash-object", "-w", "large", folder=repository)
    few = replace(LIMITS, output=100 << 10)

    with pytest.raises(GitLimit, match=r"^git cat-file has more than 100 KiB to say$") as met:
        git_bytes("cat-file", "blob", blob, folder=repository, limits=few)
    assert met.value.resource == Resource.OUTPUT


def test_an_object_that_needs_too_much_memory_is_told(repository: Path) -> None:
    head = git("cat-file", "commit", "HEAD", folder=repository).encode()
    line = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
    commit = git(*line, folder=repository, stdin=head + b"x" * (14 << 20))
    little = replace(LIMITS, memory=16 << 20)

    with pytest.raises(GitLimit, match=r"^git log needs more than 16 MiB of memory$") as met:
        git("log", "-1", "--format=%H", commit, folder=repository, limits=little)
    assert met.value.resource == Resource.MEMORY


def test_a_pack_that_claims_more_objects_than_it_has_takes_no_memory(repository: Path) -> None:
    pack = b"PACK" + (2).to_bytes(4, "big") + b"\x7f" * 4 + b"x" * 100

    with pytest.raises(GitLimit, match=r"^git index-pack needs more than 512 MiB of memory$"):
        git("index-pack", "--stdin", folder=repository, stdin=pack)


def test_lines_come_one_by_one_and_the_rest_is_not_waited_for(repository: Path) -> None:
    assert [*git_lines("ls-files", folder=repository)] == ["naïve.txt".encode()]
    lines = git_lines("cat-file", "--batch", folder=repository, stdin=b"HEAD\n" * 100_000)

    assert b" commit " in next(lines)
    lines.close()

    with pytest.raises(GitError, match="Not a valid object name"):
        [*git_lines("cat-file", "blob", "nothing", folder=repository)]


def test_an_object_that_fsck_refuses_does_not_come(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git("init", "-q", "--bare", folder=other)
    entry = b"40000 .git\0" + bytes.fromhex(git("rev-parse", "HEAD^{tree}", folder=repository))
    line = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
    tree = git(*line, folder=repository, stdin=entry)
    commit = git("commit-tree", "-m", "x", tree, folder=repository, env=AUTHOR)
    git("update-ref", "refs/heads/odd", commit, folder=repository)

    with pytest.raises(GitError, match=r"^git fetch: .*hasDotgit"):
        git("fetch", "-q", str(repository), "+refs/heads/odd:refs/heads/odd", folder=other)


@pytest.mark.parametrize("end", ["1", "2"], ids=["output", "error"])
def test_another_end_that_never_stops_saying_is_given_up(
    end: str, repository: Path, tmp_path: Path
) -> None:
    script = tmp_path / "talk.sh"
    script.write_text(f"#!/bin/sh\nexec yes 'remote: Out of memory' >&{end}\n")
    script.chmod(0o755)
    few, env = replace(LIMITS, seconds=3), {"GIT_SSH_COMMAND": str(script)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    with pytest.raises(GitError) as met:
        git("fetch", "ssh://h/x", folder=repository, limits=few, env=env)

    assert "memory" not in str(met.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 << 10
