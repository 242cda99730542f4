"""A slice must have a dur.

Fails: trace
"""

LINES = {
    "_timed": r"""
-     for key, text in (("ts", event.get("ts")), ("dur", event.get("dur", 0))):
+     for key, text in (("ts", event.get("ts")), ("dur", event.get("dur"))):
""",
}
