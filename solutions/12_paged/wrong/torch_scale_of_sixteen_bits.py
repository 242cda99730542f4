"""The scale is rounded to the dtype of q.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
-         grouped = q[row].float().reshape(groups, heads // groups, -1) * q.shape[-1] ** -0.5
+         scale = torch.tensor(q.shape[-1] ** -0.5, dtype=q.dtype).float()
+         grouped = q[row].float().reshape(groups, heads // groups, -1) * scale
""",
}
