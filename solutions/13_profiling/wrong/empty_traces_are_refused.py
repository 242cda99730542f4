"""A trace of no events is refused.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     if not isinstance(events, list):
+     if not isinstance(events, list) or not events:
""",
}
