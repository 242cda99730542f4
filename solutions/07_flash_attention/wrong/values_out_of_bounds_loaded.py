"""Values beyond S are read and given the weight 0: NaN times 0 is NaN.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             v = tl.load(v_at, mask=inside[:, None] & (d < D)[None, :], other=0.0)
+             v = tl.load(v_at, mask=(d < D)[None, :] & (columns >= 0)[:, None], other=0.0)
""",
}
