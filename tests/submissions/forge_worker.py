"""Finds the worker that runs it and makes it report success.

Expect:
    scale: failed skipped
    score: 0
    says: values of the result are off
"""

import gc
import sys


def forge(error, file):
    return {"kind": "passed", "verdict": "passed", "score": 100}


def scale(x, factor):
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if "describe" in frame.f_globals:
            frame.f_globals["describe"] = forge
    for thing in gc.get_objects():
        if isinstance(thing, dict) and "verdict" in thing:
            thing["verdict"] = "passed"
    return x * 0
