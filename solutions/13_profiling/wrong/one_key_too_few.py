"""Events come back with six keys alone.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     kept = [_timed(event) for event in events if event.get("ph") in ("X", "i")]
+     keys = ("ph", "name", "cat", "pid", "tid", "args")
+     kept = [{**{key: event[key] for key in keys if key in event}, "ts": _timed(event)["ts"], "dur": _timed(event)["dur"]} for event in events if event.get("ph") in ("X", "i")]
""",
}
