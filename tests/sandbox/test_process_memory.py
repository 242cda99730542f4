"""What the kernel tells of another process's memory."""

import os
import subprocess
import sys

import pytest

from grader.sandbox.tripwire.process_memory import private_bytes

# Holds what each line says, answers.
HOLDER = """
import mmap, os, sys
for line in sys.stdin:
    kept = eval(line)
    print("done", flush=True)
"""
SIZE = 32 << 20


@pytest.mark.parametrize(
    "held",
    [
        f"bytes({SIZE})",
        f"[bytearray(1 << 20) for _ in range({SIZE >> 20})]",
        f"mmap.mmap(-1, {SIZE}).write(bytes({SIZE})) and mmap",
        f"(m := mmap.mmap(-1, {SIZE}), m.write(b'x' * {SIZE}))",
        f"(f := os.memfd_create('m'), os.truncate(f, {SIZE}), m := mmap.mmap(f, {SIZE}),"
        f" m.write(b'x' * {SIZE}))",
    ],
    ids=["bytes", "many", "dropped", "map", "memory file"],
)
def test_private_memory_is_what_the_kernel_counts(held: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None

    def reading(code: str) -> int:
        print(code, file=child.stdin, flush=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "done\n"
        return private_bytes(child.pid) or 0

    with child:
        before = reading("None")
        # bytes of zeros come from calloc, whose pages nobody has touched.
        grown = reading(held) - before
        child.stdin.close()

    untouched = held.startswith("bytes") or held.endswith("and mmap")
    assert before > 1 << 20
    assert abs(grown - (0 if untouched else SIZE)) < 4 << 20


def test_process_that_is_gone_has_no_memory() -> None:
    child = subprocess.Popen(["true"])
    child.wait()

    assert private_bytes(child.pid) is None
    assert private_bytes(os.getpid())
