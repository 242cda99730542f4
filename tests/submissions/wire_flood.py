"""Asks for objects that it was never lent, for ever.

Expect:
    scale: timeout skipped
    score: 0
    says: did not end within its time limit of 2 s
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
    while True:
        say({"op": "ask", "object": 7, "name": "expected", "value": None, "buffers": []})
