"""Sends its right answer by hand and then returns it too.

Expect:
    scale: passed crashed skipped
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
    y = x * factor
    tree = {"x": [0, "float32", list(y.shape), None, "cpu"]}
    raw = y.numpy().tobytes()
    say({"op": "value", "id": current(), "value": tree, "buffers": [[len(raw), -1]]}, raw)
    return y
