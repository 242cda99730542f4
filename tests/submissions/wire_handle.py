"""Its store is an object that the judge was never given.

Expect:
    scale: passed
    store: error skipped
    loop: skipped
    score: 45
    says: KeyError
"""

import json
import math
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
    if not math.isfinite(factor):
        raise ValueError("factor must be finite")
    return (x.float() * factor).to(x.dtype)


class Store:
    def __init__(self, config):
        tree = {"h": [987654321, "Store", ["append", "rows"]]}
        say({"op": "value", "id": current(), "value": tree, "buffers": []})
        frame = sys._getframe()
        while not hasattr(frame.f_locals.get("self"), "serve"):
            frame = frame.f_back
        frame.f_locals["self"].serve()
