"""What reads a submission has one budget for all of it, and is shut in before it begins."""

import json
from pathlib import Path

import pytest

from grader import readers
from grader.limited import Ended, Resource
from grader.readers import BOOT, Budget

HANDED = "# coding: shift_jis\nx = '\u30c6\u30b9\u30c8'\n".encode("shift_jis")


def read(code: str, place: Path, monkeypatch: pytest.MonkeyPatch, budget: Budget) -> Ended:
    """Let code of ours read, as the ``main`` of a module."""
    body = "\n".join(f"    {line}" for line in code.splitlines())
    (place / "reads.py").write_text(f"def main():\n{body}\n")
    monkeypatch.setattr(readers, "BOOT", f"import sys; sys.path.append({str(place)!r}); {BOOT}")
    return budget.run("reads", HANDED)


SPENDS = "import time\nwhile time.process_time() < 1.3: pass"
ENDLESS = "while True: pass"


def test_each_reader_has_what_those_before_have_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(4)

    first = read(SPENDS, tmp_path, monkeypatch, budget)
    second = read(ENDLESS, tmp_path, monkeypatch, budget)

    assert (first.status, first.over) == (0, None)
    assert 1.2 < first.processor < 2.4
    assert second.over is Resource.CPU
    assert first.processor + second.processor < 5


def test_a_reader_that_comes_after_all_is_spent_has_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(0)

    done = read("print('read')", tmp_path, monkeypatch, budget)
    late = read(ENDLESS, tmp_path, monkeypatch, budget)

    assert done.output == b"read\n"
    assert late.over is Resource.CPU


TRIES = """
import ctypes, json, os, socket, sys
from grader.confined import confine
code = sys.stdin.buffer.read()
confine(code)
compile(code, "", "exec")
compile("\u00e9\u1e9b = 1", "", "exec")
libc, held = ctypes.CDLL(None), {}
tries = {
    "opens": lambda: open("/etc/hostname"),
    "writes": lambda: open("/tmp/left-by-a-reader", "w"),
    "lists": lambda: os.listdir("/"),
    "connects": lambda: socket.socket(),
    "forks": lambda: os.fork(),
    "runs": lambda: os.execv("/bin/true", ["true"]),
    "signals": lambda: os.kill(os.getppid(), 0),
    "makes memory files": lambda: os.memfd_create("x"),
}
for name, attempt in tries.items():
    try:
        held[name] = repr(attempt())
    except OSError as error:
        held[name] = error.errno
print(json.dumps(held))
"""


def test_a_reader_can_do_nothing_but_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = read(TRIES.strip(), tmp_path, monkeypatch, Budget())

    assert ended.status == 0, ended.told
    held = json.loads(ended.output)
    assert {*held.values()} == {1}  # EPERM
    assert len(held) == 8
