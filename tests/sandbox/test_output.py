"""Reading what a worker prints."""

import os
import time
from unittest.mock import Mock

import pytest

from grader.sandbox import output
from grader.sandbox.output import Printed


def test_start_of_what_is_printed_is_kept():
    read, write = os.pipe()
    printed = Printed(open(read, "rb"), limit=4)
    os.write(write, b"abcdef")

    assert printed.text() == "abcd"
    printed.forget()
    assert printed.text() == ""

    os.close(write)
    printed.close()


def test_all_is_read_once_there_is_memory_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    none = Mock(side_effect=[MemoryError, MemoryError], wraps=output.has_come)
    with monkeypatch.context() as patched:
        patched.setattr(output, "has_come", none)
        printed = Printed(open(read, "rb"), limit=4)
        while none.call_count < 2:
            time.sleep(0.01)
    os.write(write, b"abc")
    os.close(write)
    printed.close()

    assert printed.text(wait=False) == "abc"


def test_pipe_is_closed_once_nobody_can_write_to_it():
    read, write = os.pipe()
    pipe = open(read, "rb")
    printed = Printed(pipe, limit=4)

    printed.close(seconds=0.05)
    assert not pipe.closed

    os.close(write)
    ends = time.monotonic() + 10
    while not pipe.closed and time.monotonic() < ends:
        time.sleep(0.01)
    assert pipe.closed
