"""Keys beyond S are loaded as 0 and get the score 0, not -inf.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             seen = inside[None, :] & (columns[None, :] <= last[:, None])
+             seen = columns[None, :] <= last[:, None]
""",
}
