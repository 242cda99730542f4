"""An object without traceEvents is taken for an empty trace.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     events = trace.get("traceEvents") if isinstance(trace, dict) else trace
+     events = trace.get("traceEvents", []) if isinstance(trace, dict) else trace
""",
}
