"""Keeps the running sums of dweight and dbias in the dtype of weight.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "parameters_kernel": r"""
-     dw = tl.zeros([BLOCK], tl.float32)
-     db = tl.zeros([BLOCK], tl.float32)
+     dw = tl.zeros([BLOCK], dweight.dtype.element_ty)
+     db = tl.zeros([BLOCK], dweight.dtype.element_ty)
...
-         dw += up * (value - tl.load(mean + row)) * tl.load(rstd + row)
-         db += up
+         dw += (up * (value - tl.load(mean + row)) * tl.load(rstd + row)).to(dw.dtype)
+         db += up.to(db.dtype)
""",
    "layer_norm_backward": r"""
-     dweight = torch.empty(parts, width, dtype=torch.float32, device=x.device)
+     dweight = torch.empty(parts, width, dtype=weight.dtype, device=x.device)
""",
}
