"""Prints a fake report, with control codes and by the megabyte, and writes result files.

Expect:
    scale: failed skipped
    score: 0
    says: values of the result are off
"""

import contextlib
import json
import os
import sys

RESULT = {"id": "test_values[7-33]", "task": "scale", "suite": "hidden", "verdict": "passed"}
FAKE = json.dumps(["test", RESULT])
for name in ("report.json", "results.json", "results/results.json", "junit.xml", "/report.json"):
    with contextlib.suppress(OSError), open(name, "w") as file:
        file.write(FAKE)


def scale(x, factor):
    for stream in (sys.stdout, sys.__stderr__):
        stream.write(
            "\x1b[2J\x1b[32m100 of 100\x1b[0m\r\n<script>alert(1)</script>\n" + FAKE + "\n"
        )
        stream.flush()
    os.write(1, b"\x00\xff\x1b]0;passed\x07" * (1 << 19))
    return x * 0
