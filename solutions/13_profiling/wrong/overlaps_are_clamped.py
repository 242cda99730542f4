"""Times below 0 are made 0, and the overlap counts twice.

From: profiling.py
Fails: trace
"""

from collections import defaultdict
from typing import Any


def self_times(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return durations less those of the children, 0 at least."""
    times: dict[str, float] = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        own: list[float] = []
        open_: list[int] = []
        for i, event in enumerate(track):
            while open_ and _span(track[open_[-1]])[1] <= event["ts"]:
                open_.pop()
            own.append(event["dur"])
            if open_:
                own[open_[-1]] -= event["dur"]
            open_.append(i)
        for event, time in zip(track, own, strict=True):
            times[event["name"]] += max(0.0, time)
    return dict(times)
