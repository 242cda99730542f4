"""Adds dweight and dbias to the buffers of the last call of the same width.

From: variants/passes.py
Fails: backward, speed
"""

LINES = {
    "": r"""
+ BUFFERS: dict[tuple[int, torch.device], Tensor] = {}
+
+
  class LayerNorm(torch.autograd.Function):
""",
    "layer_norm_backward": r"""
-     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+     kept = BUFFERS.setdefault((width, x.device), torch.zeros(2, width, device=x.device))
+     kept += torch.stack((dweight.sum(0), dbias.sum(0)))
+     return dx, kept[0].to(weight.dtype), kept[1].to(weight.dtype)
""",
}
