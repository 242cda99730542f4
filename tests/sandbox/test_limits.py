"""The session's own control group: what it starts, and groups of workers, are beside it."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.expectation import HERE

from grader.sandbox.confinement import limits

PROJECT = HERE.parent
KIND = limits.detect()


@pytest.fixture
def group() -> Iterator[limits.Cgroup]:
    made = limits.judge_group(KIND, 200 << 20)
    if made is None:
        pytest.skip("no control group can be made here")
    yield made
    made.close()
    assert not made.folder.exists()


def judge(group: limits.Cgroup, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that has joined the group."""
    start = f"from grader.sandbox.confinement import limits\nlimits.join({str(group.folder)!r})\n"
    return subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(code)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_judge_that_takes_too_much_is_killed_and_its_group_knows(group: limits.Cgroup) -> None:
    done = judge(group, "kept = [b'a' * (16 << 20) for _ in range(40)]")

    assert done.returncode == -signal.SIGKILL
    assert group.why_killed() == "memory"


def test_judge_that_takes_what_it_may_is_not(group: limits.Cgroup) -> None:
    done = judge(group, "kept = [b'a' * (16 << 20) for _ in range(5)]")

    assert (done.returncode, done.stderr) == (0, "")
    assert group.why_killed() == ""


def test_what_a_judge_starts_stands_outside(group: limits.Cgroup) -> None:
    """With its children: were they inside, a worker's memory would be the judge's."""
    done = judge(
        group,
        """
        import subprocess
        inside = subprocess.run(["cat", "/proc/self/cgroup"], capture_output=True, text=True)
        outside = subprocess.run(
            [*limits.outside(), "sh", "-c", "cat /proc/self/cgroup; echo \\"$@\\"", "", "a b", "'"],
            capture_output=True, text=True,
        )
        print(inside.stdout, "=====", outside.stdout, outside.stderr)
        """,
    )
    inside, _, outside = done.stdout.partition("=====")

    assert group.folder.name in inside
    assert group.folder.name not in outside
    own = {line.partition(":")[2] for line in Path("/proc/self/cgroup").read_text().splitlines()}
    assert own <= {line.strip().partition(":")[2] for line in outside.splitlines()}
    assert outside.rstrip().endswith("a b '")


def test_groups_of_workers_are_made_beside_the_judges(group: limits.Cgroup) -> None:
    done = judge(
        group,
        f"""
        made = limits.Cgroup({KIND!r}, None, 1 << 30, 10)
        print(made.folder)
        made.close()
        """,
    )

    assert Path(done.stdout.strip()).parent == group.folder.parent, done.stderr


def test_nothing_is_put_before_a_command_where_there_is_no_group() -> None:
    assert limits.outside() == []


def test_a_group_that_is_gone_limits_nothing() -> None:
    before = Path("/proc/self/cgroup").read_text()

    limits.join("/sys/fs/cgroup/no-such-group")

    assert Path("/proc/self/cgroup").read_text() == before


@pytest.mark.parametrize(
    ("lines", "file"),
    [
        ("0::/a/inferlab-7-0123abcd", "a/cgroup.procs"),
        ("0::/inferlab-7-0123abcd", "cgroup.procs"),
        ("4:memory:/a/b/inferlab-7-0123abcd\n0::/", "memory/a/b/cgroup.procs"),
        ("4:cpu,memory:/inferlab-7-0123abcd", "memory/cgroup.procs"),
        ("0::/system.slice/inferlab-grader.service", ""),
        ("0::/a/inferlab-7-0123abcd/b", ""),
        ("4:memory:/\n0::/", ""),
    ],
    ids=str,
)
def test_the_group_around_is_found(
    lines: str, file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr(limits, "_own_groups", lines.splitlines)

    assert limits.outside()[3:] == ([str(tmp_path / file)] if file else [])


def test_version_two_makes_groups_beside_the_judges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes may not stand in a group that has others inside: the one around has them."""
    (tmp_path / "a" / "inferlab-7-0123abcd").mkdir(parents=True)
    (tmp_path / "a" / "cgroup.subtree_control").write_text("memory pids\n")
    monkeypatch.setattr(limits, "ROOT", tmp_path)
    monkeypatch.setattr(limits, "_own_groups", lambda: ["0::/a/inferlab-7-0123abcd"])

    assert limits._unified() == tmp_path / "a"


def test_a_judge_that_was_killed_leaves_no_group_for_long(group: limits.Cgroup) -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        pass
    left = group.folder.with_name(f"inferlab-{process.pid}-0123abcd")
    left.mkdir()

    limits.sweep()

    assert not left.exists()
    assert group.folder.exists()
    assert limits.NAME.fullmatch(group.folder.name)
    assert str(os.getpid()) in group.folder.name
