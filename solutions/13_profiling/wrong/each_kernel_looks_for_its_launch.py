"""For each kernel all events are searched.

From: profiling.py
Fails: trace
"""

from collections import defaultdict
from typing import Any


def attribute(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return device time by the innermost annotation around what launched it."""
    times: dict[str, float] = defaultdict(float)
    tracks = _tracks(events, ("user_annotation", "cuda_runtime", "cuda_driver"))
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            number, owner = _correlation(event), ""
            for track in tracks:
                for call in track:
                    if (
                        call["cat"] != "user_annotation"
                        and _correlation(call) == number is not None
                    ):
                        start, end = _span(call)
                        for note in track:
                            begins, ends = _span(note)
                            if note["cat"] == "user_annotation" and begins <= start <= end <= ends:
                                owner = note["name"]
            times[owner] += event["dur"]
    return dict(times)
