"""dbias is torch.sum over dy itself, not over what kernels wrote.

From: variants/simple.py
Fails: backward, speed
"""

LINES = {
    "layer_norm_backward": r"""
-     return dx, dweight.sum(0).to(weight.dtype), dbias.sum(0).to(weight.dtype)
+     return dx, dweight.sum(0).to(weight.dtype), up.float().sum(0).to(weight.dtype)
""",
}
