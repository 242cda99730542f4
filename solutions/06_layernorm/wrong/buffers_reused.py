"""Keeps y, mean and rstd by shape: the next call overwrites the last result.

From: variants/simple.py
Fails: forward, backward, speed
"""

LINES = {
    "": r"""
+ BUFFERS: dict[Any, Any] = {}
+
+
  @triton.jit
  def forward_kernel(x, weight, bias, y, mean, rstd, width, stride, eps, BLOCK: tl.constexpr):
""",
    "layer_norm_forward": r"""
-     y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
-     mean = torch.empty(num_rows, dtype=torch.float32, device=x.device)
-     rstd = torch.empty_like(mean)
+     key = x.shape, x.dtype, x.device
+     if key not in BUFFERS:
+         mean = torch.empty(num_rows, dtype=torch.float32, device=x.device)
+         y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
+         BUFFERS[key] = y, mean, torch.empty_like(mean)
+     y, mean, rstd = BUFFERS[key]
""",
}
