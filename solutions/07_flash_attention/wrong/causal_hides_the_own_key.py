"""The causal mask compares with < where it needs <=: no row sees its own last key.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             seen = inside[None, :] & (columns[None, :] <= last[:, None])
+             seen = inside[None, :] & (columns[None, :] < last[:, None])
""",
}
