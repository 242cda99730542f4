"""Copies and fills are nobody's.

Fails: trace
"""

LINES = {
    "attribute": r"""
-         if event.get("cat") in DEVICE:
+         if event.get("cat") == "kernel":
""",
}
