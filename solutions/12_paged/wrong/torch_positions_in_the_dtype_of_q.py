"""Positions are numbers of q's dtype, which bfloat16 does not tell apart from 256 on.

From: variants/objects_and_padding.py
Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-     seen = torch.arange(tables.shape[1] * P, device=q.device) < lengths[:, None]  # [B, S]
+     seen = torch.arange(tables.shape[1] * P, device=q.device, dtype=q.dtype) < lengths[:, None]
""",
}
