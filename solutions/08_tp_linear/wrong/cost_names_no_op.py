"""The error for another op does not say that it is about op.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-         raise ValueError(f"op {op!r} is none of {', '.join(chunks)}")
+         raise ValueError(f"{op!r} is none of {', '.join(chunks)}")
""",
}
