"""baseTimeNanoseconds is added to all times.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     return sorted(kept, key=lambda event: event["ts"])
+     base = trace.get("baseTimeNanoseconds", 0) / 1000 if isinstance(trace, dict) else 0.0
+     kept = [event | {"ts": event["ts"] + base} for event in kept]
+     return sorted(kept, key=lambda event: event["ts"])
""",
}
