"""No elements are a ValueError.

From: variants/plain.py
Fails: cost
"""

LINES = {
    "communication_bytes": r"""
-     if op not in chunks:
+     if op not in chunks or elements < 1:
""",
}
