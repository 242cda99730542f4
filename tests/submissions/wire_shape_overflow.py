"""Sends a tensor whose shape no machine integer holds.

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
    tree = {"x": [0, "float32", [2**63, 2**70, 0], None, "cpu"]}
    say({"op": "value", "id": current(), "value": tree, "buffers": [[0, -1]]})
    return x * factor
