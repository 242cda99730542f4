"""An instant without a time is put at 0.

Fails: trace
"""

LINES = {
    "_timed": r"""
-     times = {}
+     times = {}
+     if event["ph"] == "i":
+         event = {"ts": 0, **{key: event[key] for key in event if event[key] is not None}}
""",
}
