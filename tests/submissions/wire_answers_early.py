"""Answers the next question before it is asked.

Expect:
    scale: crashed skipped
    score: 0
"""

import json
import os
import struct
import sys


def say(header, inline=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = struct.pack("!II", len(text) if length is None else length, len(inline)) + text + inline
    while data:
        try:
            data = data[os.write(int(sys.argv[1]), data) :]
        except BlockingIOError:
            pass


def current():
    frame = sys._getframe()
    while "header" not in frame.f_locals or "id" not in frame.f_locals["header"]:
        frame = frame.f_back
    return frame.f_locals["header"]["id"]


def scale(x, factor):
    say({"op": "value", "id": current() + 1, "value": None, "buffers": []})
    return x * factor
