"""A negative bandwidth passes.

Fails: roofline
"""

LINES = {
    "_check_device": r"""
-     if bandwidth <= 0:
+     if bandwidth == 0:
""",
}
