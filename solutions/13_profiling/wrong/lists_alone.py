"""An object with events is no trace.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     events = trace.get("traceEvents") if isinstance(trace, dict) else trace
+     events = trace
""",
}
