"""A peak of 0 is divided by.

Fails: roofline
"""

LINES = {
    "_check_device": r"""
-     if peak <= 0:
+     if peak < 0:
""",
}
