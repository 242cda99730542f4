"""A dur of null or of no letters is 0.

Fails: trace
"""

LINES = {
    "_timed": r"""
-     for key, text in (("ts", event.get("ts")), ("dur", event.get("dur", 0))):
+     for key, text in (("ts", event.get("ts")), ("dur", event.get("dur") or 0)):
""",
}
