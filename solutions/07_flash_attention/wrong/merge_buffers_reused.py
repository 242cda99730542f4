"""merge keeps its result by shape: the next call overwrites the last one.

From: variants/simple.py
Fails: merge
"""

import functools

LINES = {
    "": r"""
+ @functools.cache
+ def _merged(shape: torch.Size, dtype: torch.dtype, device: torch.device) -> Tensor:
+     return torch.empty(shape, dtype=dtype, device=device)
+
+
  def flash_attention_torch(
""",
    "merge": r"""
-     return (o1 * weight1 + o2 * weight2).to(o1.dtype), lse
+     o = _merged(o1.shape, o1.dtype, o1.device)
+     return o.copy_(o1 * weight1 + o2 * weight2), lse
""",
}
