"""Answers questions that nobody asked, under every number.

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


def scale(x, factor):
    for number in (-1, 0, True, 1.0, "2", None, 10**30, [2], 99):
        say({"op": "value", "id": number, "value": True, "buffers": []})
    return x * factor
