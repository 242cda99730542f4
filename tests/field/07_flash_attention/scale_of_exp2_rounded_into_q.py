"""The scale and log2(e) are multiplied into q before the product, in the dtype of q.

From: variants/simple.py
Kind: precision
Report: https://github.com/fla-org/flash-linear-attention/pull/361
Fails: triton
"""

LINES = {
    "_forward": r"""
-     scale = tl.abs(scale)
+     scale = tl.abs(scale)
+     if not VARLEN:
+         q = (q * scale).to(q_ptr.dtype.element_ty)
+         scale = 1.0
""",
}
