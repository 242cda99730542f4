"""Sends half a message and ends.

Expect:
    scale: crashed skipped
    score: 0
    says: ended itself with status 3
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
    say(b'{"op": "val', length=4000)
    os._exit(3)
