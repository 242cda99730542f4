"""Hidden keys get -1e6 for -inf: rows that see no key average what is hidden.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             scores = tl.where(seen, scores * scale, float("-inf"))
+             scores = tl.where(seen, scores * scale, -1.0e6)
""",
}
