"""traceEvents of null is taken for an empty trace.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-     events = trace.get("traceEvents") if isinstance(trace, dict) else trace
+     events = (trace["traceEvents"] or []) if isinstance(trace, dict) and "traceEvents" in trace else trace
""",
}
