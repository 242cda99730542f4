"""The zero is taken away from the code in uint8.

From: variants/simple.py
Fails: int4, linears, model
"""

LINES = {
    "dequantize_int4": r"""
-     codes = torch.empty(num_out, 2 * half, device=packed.device)
-     codes[:, 0::2] = (packed & 0x0F).float()
-     codes[:, 1::2] = (packed >> 4).float()
+     codes = torch.empty(num_out, 2 * half, dtype=torch.uint8, device=packed.device)
+     codes[:, 0::2] = packed & 0x0F
+     codes[:, 1::2] = packed >> 4
      scale = scale.repeat_interleave(group, dim=1)
-     zero = zero.float().repeat_interleave(group, dim=1)
+     zero = zero.repeat_interleave(group, dim=1)
""",
}
