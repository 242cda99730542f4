"""Durations are told with those of children.

Fails: trace
"""

LINES = {
    "self_times": r"""
-     for track in _tracks(events, ("cpu_op", "user_annotation")):
-         open_: list[tuple[float, str]] = []  # (end, name), innermost last; some may have ended
-         now = -math.inf
-         spans = [(*_span(event), event["name"]) for event in track]
-         for start, end, name in [*spans, (math.inf, math.inf, "")]:
-             while open_ and now < start:
-                 ends, innermost = open_[-1]
-                 until = max(now, min(start, ends))
-                 times[innermost] += until - now
-                 now = until
-                 if ends <= now:
-                     open_.pop()
-             now = start
-             open_.append((end, name))
+     for track in _tracks(events, ("cpu_op", "user_annotation")):
+         for event in track:
+             times[event["name"]] += event["dur"]
""",
}
