"""Subordinate ids: why an account may have none to give to its workers, each told in a line."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from stand_ins.isolation import require_sandbox

from grader.sandbox.confinement import subordinate
from grader.sandbox.confinement.subordinate import NoUsers, enter

TOOLS = ("newuidmap", "newgidmap", "nsenter")
ACCOUNT = 4711


@pytest.fixture(autouse=True)
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account that has all that is needed; each test takes something away."""
    require_sandbox()
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).write_text("#!/bin/sh\nexit 0\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: ACCOUNT)
    for name in ("newuidmap", "newgidmap"):
        file = tmp_path / f"ids of {name}"
        file.write_text(f"other:1:2\n{ACCOUNT}:300000:200\n")
        monkeypatch.setitem(subordinate.FILES, name, file)
    for name in ("prefix", "base_prefix"):
        monkeypatch.setattr(f"sys.{name}", str(tools))
    mask = os.umask(0o022)
    yield
    os.umask(mask)


def test_whole_blocks_of_the_first_range_are_taken() -> None:
    first, count, namespace = enter(64)
    os.close(namespace)

    assert (first, count) == (300_000, 192)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_missing_tool_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tool: str
) -> None:
    (tmp_path / "tools" / tool).unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))

    with pytest.raises(NoUsers, match=f"there is no {tool}"):
        enter(64)


@pytest.mark.parametrize("text", ["", "other:1:65536\n", f"{ACCOUNT}:many:65536\n"])
def test_an_account_without_ids_is_told_which_file_gives_none(text: str) -> None:
    subordinate.FILES["newgidmap"].write_text(text)

    with pytest.raises(NoUsers, match="ids of newgidmap gives its account no ids"):
        enter(64)


def test_fewer_ids_than_a_block_are_too_few() -> None:
    subordinate.FILES["newgidmap"].write_text(f"{ACCOUNT}:300000:63\n")

    with pytest.raises(NoUsers, match="fewer than 64"):
        enter(64)


@pytest.mark.parametrize("mask", [0o077, 0o027, 0o026])
def test_no_umask_is_a_reason(mask: int) -> None:
    os.umask(mask)

    _, count, namespace = enter(64)
    os.close(namespace)

    assert count == 192


def test_a_python_that_is_closed_to_others_is_named(tmp_path: Path) -> None:
    (tmp_path / "tools").chmod(0o750)

    with pytest.raises(NoUsers, match=r"cannot look into .*tools"):
        enter(64)


def test_what_newuidmap_says_is_told(tmp_path: Path) -> None:
    (tmp_path / "tools" / "newuidmap").write_text("#!/bin/sh\necho not allowed >&2\nexit 1\n")

    with pytest.raises(NoUsers, match=r"^not allowed$"):
        enter(64)
