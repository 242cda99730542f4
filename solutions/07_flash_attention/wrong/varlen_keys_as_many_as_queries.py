"""A sequence has as many keys as queries, from its own start.

From: variants/simple.py
Fails: varlen
"""

LINES = {
    "_forward": r"""
-         S = (tl.load(starts_k + batch + 1) - k_start).to(tl.int32)
+         S = T
""",
}
