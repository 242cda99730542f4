"""Events without args break the attribution.

Fails: trace
"""

LINES = {
    "_correlation": r"""
-     return event.get("args", {}).get("correlation")
+     return event["args"].get("correlation")
""",
}
