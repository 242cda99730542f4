"""The masks of keys and values let one too many through; its score is set to -inf later.

From: variants/simple.py
Fails: triton, varlen
"""

LINES = {
    "_attend": r"""
-             k = tl.load(k_at, mask=inside[None, :] & (d < D)[:, None], other=0.0)
-             v = tl.load(v_at, mask=inside[:, None] & (d < D)[None, :], other=0.0)
+             near = columns <= S
+             k = tl.load(k_at, mask=near[None, :] & (d < D)[:, None], other=0.0)
+             v = tl.load(v_at, mask=near[:, None] & (d < D)[None, :], other=0.0)
""",
}
