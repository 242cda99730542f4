"""What is no JSON is taken for an empty trace.

Fails: trace
"""

LINES = {
    "read_trace": r"""
-         raise ValueError(f"{path} holds no JSON: {error}") from None
+         trace = []
""",
}
