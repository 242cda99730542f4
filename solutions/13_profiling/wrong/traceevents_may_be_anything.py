"""What traceEvents is is not looked at.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     if not isinstance(events, list):
+     if events is None or isinstance(events, (int, str)):
""",
}
