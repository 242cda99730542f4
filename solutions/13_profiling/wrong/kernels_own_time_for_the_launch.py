"""A kernel belongs to what was around when it ran.

From: profiling.py
Fails: trace
"""

from collections import defaultdict
from typing import Any


def attribute(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return device time by the annotation that was open when the work began."""
    times: dict[str, float] = defaultdict(float)
    notes = [event for event in events if event.get("cat") == "user_annotation"]
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            around = [e for e in notes if e["ts"] <= event["ts"] < e["ts"] + e["dur"]]
            times[around[-1]["name"] if around else ""] += event["dur"]
    return dict(times)
