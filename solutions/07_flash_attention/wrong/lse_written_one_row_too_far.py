"""The last program of a head also writes the first lse of the next one, which then writes it anew.

From: variants/simple.py
Fails: triton, speed
"""

LINES = {
    "_forward": r"""
-         tl.store(lse_at, tl.where(some, lse, float("-inf")), mask=rows < T)
+         tl.store(lse_at, tl.where(some, lse, float("-inf")), mask=rows <= T)
""",
}
