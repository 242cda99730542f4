"""Older tokens are quantized again when larger ones come.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
-                 self.parts[index] = torch.cat((old_q, q), 2), torch.cat((old_scale, scale), 2)
+                 both = torch.cat((old_q * old_scale, q * scale), 2)
+                 largest = both.abs().amax((2, 3), keepdim=True)
+                 scale = torch.where(largest == 0, 1.0, largest / 127)
+                 q = (both / scale).round().to(torch.int8)
+                 self.parts[index] = q, scale.expand(*q.shape[:3], 1).contiguous()
""",
}
