"""Each slice is compared with all others of its track.

From: profiling.py
Fails: trace
"""

from collections import defaultdict
from itertools import pairwise
from typing import Any


def self_times(events: list[dict[str, Any]]) -> dict[str, float]:
    """Return for each name the time in which a slice of it is the innermost."""
    times: dict[str, float] = defaultdict(float)
    for track in _tracks(events, ("cpu_op", "user_annotation")):
        spans = [_span(event) for event in track]
        borders = sorted({border for span in spans for border in span})
        for start, stop in pairwise(borders):
            inner = None
            for event, (begins, ends) in zip(track, spans, strict=True):
                if begins <= start and stop <= ends:
                    inner = event["name"]
            if inner is not None:
                times[inner] += stop - start
    return dict(times)
