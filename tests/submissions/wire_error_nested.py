"""Sends an exception whose bases are nested as deep as JSON may be.

Expect:
    scale: crashed|error skipped
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
    for depth in (900, 940, 950, 955, 960, 965, 970, 975, 980, 985, 990):
        deep = "[" * depth + "]" * depth
        head = f'{{"op":"error","id":{current()},"kind":"E","message":"","frames":[],"buffers":[],'
        say(f'{head}"bases":[{deep}]}}'.encode())
    return x * factor
