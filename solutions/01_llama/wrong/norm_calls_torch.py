"""Leaves the norm to torch.

From: variants/plain.py
Fails: norm, model, engine
"""

LINES = {
    "rms_norm": r"""
-     rms = torch.sqrt(wide.square().mean(-1, keepdim=True) + eps)
-     return (wide / rms * weight).to(x.dtype)
+     return F.rms_norm(wide, weight.shape, weight.float(), eps).to(x.dtype)
""",
}
