"""q is scaled in place.

Fails: torch
"""

LINES = {
    "paged_attention_torch": r"""
      o = torch.zeros_like(q)
+     q *= q.shape[-1] ** -0.5
...
-         grouped = q[row].float().reshape(groups, heads // groups, -1) * q.shape[-1] ** -0.5
+         grouped = q[row].float().reshape(groups, heads // groups, -1)
""",
}
