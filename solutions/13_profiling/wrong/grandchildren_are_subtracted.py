"""Grandchildren are subtracted too.

From: profiling.py
Fails: trace
"""

from collections import defaultdict
from typing import Any


def self_times(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return durations less those of all that lies inside."""
    times: dict[str, float] = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        open_: list[dict[str, Any]] = []
        for event in track:
            while open_ and _span(open_[-1])[1] <= event["ts"]:
                open_.pop()
            times[event["name"]] += event["dur"]
            for around in open_:
                times[around["name"]] -= event["dur"]
            open_.append(event)
    return dict(times)
