"""The padding of D to a power of two is read from memory, not filled with zeros.

From: variants/simple.py
Fails: triton, varlen, speed
"""

LINES = {
    "_attend": r"""
-             k = tl.load(k_at, mask=inside[None, :] & (d < D)[:, None], other=0.0)
-             v = tl.load(v_at, mask=inside[:, None] & (d < D)[None, :], other=0.0)
-         elif D < BLOCK_D:
+             k = tl.load(k_at, mask=inside[None, :] & (d < BLOCK_D)[:, None], other=0.0)
+             v = tl.load(v_at, mask=inside[:, None] & (d < BLOCK_D)[None, :], other=0.0)
+         elif D < 0:
""",
    "_forward": r"""
-     mine = (rows < T)[:, None] & (d < D)[None, :]
+     mine = (rows < T)[:, None] & (d < BLOCK_D)[None, :]
...
-     tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=mine)
+     tl.store(o_at, o.to(o_ptr.dtype.element_ty), mask=mine & (d < D)[None, :])
""",
}
