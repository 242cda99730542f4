"""Sends JSON that is nested a hundred thousand times.

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
    say(b"[" * 100_000 + b"]" * 100_000)
    return x * factor
