"""Answers the next question before it is asked.

Expect:
    scale: passed failed skipped
    store: skipped
    loop: skipped
    score: 0
    says: should be a tensor, not None
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
    os.set_blocking(int(sys.argv[1]), True)
    os.register_at_fork(after_in_child=lambda: None)
    send_next(current() + 1)
    return x * factor


def send_next(number):
    import threading
    import time

    def late():
        time.sleep(0.3)
        say({"op": "value", "id": number, "value": None, "buffers": []})

    threading.Thread(target=late).start()
