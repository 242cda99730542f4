"""Launch and kernel are joined by their External id.

Fails: trace
"""

LINES = {
    "_correlation": r"""
-     return event.get("args", {}).get("correlation")
+     return event.get("args", {}).get("External id")
""",
}
