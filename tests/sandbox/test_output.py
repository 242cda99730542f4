"""Reading what a worker prints."""

import os
import time

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
