"""An event without ts is put at 0.

Fails: trace
"""

LINES = {
    "_timed": r"""
-     for key, text in (("ts", event.get("ts")), ("dur", event.get("dur", 0))):
+     for key, text in (("ts", event.get("ts", 0)), ("dur", event.get("dur", 0))):
""",
}
