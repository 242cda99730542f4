"""The gathered outputs are joined from the last rank to the first.

From: variants/plain.py
Fails: column
"""

LINES = {
    "Gather.forward": r"""
-         return torch.cat(parts, dim=-1)
+         return torch.cat(parts[::-1], dim=-1)
""",
}
