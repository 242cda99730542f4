"""Another op is a KeyError.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-     if op not in chunks:
-         raise ValueError(f"op {op!r} is none of {', '.join(chunks)}")
""",
}
