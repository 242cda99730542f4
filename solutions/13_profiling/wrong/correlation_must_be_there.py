"""Events without a correlation break the attribution.

Fails: trace
"""

LINES = {
    "_correlation": r"""
-     return event.get("args", {}).get("correlation")
+     return event.get("args", {})["correlation"]
""",
}
