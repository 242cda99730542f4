"""Ranges and scales of int4 are computed in the dtype of w.

From: variants/simple.py
Fails: int4, linears
"""

LINES = {
    "quantize_int4": r"""
-     w = w.detach().float().reshape(num_out, width // group, group)
+     w = w.detach().reshape(num_out, width // group, group)
...
-     return codes[:, 0::2] | (codes[:, 1::2] << 4), scale, zero.to(torch.uint8)
+     return codes[:, 0::2] | (codes[:, 1::2] << 4), scale.float(), zero.to(torch.uint8)
""",
}
