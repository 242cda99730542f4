"""A child that outlasts its parent is subtracted whole.

From: profiling.py
Fails: trace
"""

from collections import defaultdict
from typing import Any


def self_times(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return durations less those of the children."""
    times: dict[str, float] = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        open_: list[dict[str, Any]] = []
        for event in track:
            while open_ and _span(open_[-1])[1] <= event["ts"]:
                open_.pop()
            times[event["name"]] += event["dur"]
            if open_:
                times[open_[-1]["name"]] -= event["dur"]
            open_.append(event)
    return dict(times)
