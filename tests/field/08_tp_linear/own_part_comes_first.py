"""The part of the rank itself is put in front of the others that are gathered.

From: variants/plain.py
Kind: positions
Report: https://github.com/turboderp-org/exllamav3/issues/233
Fails: column
"""

LINES = {
    "Gather.forward": r"""
-         return torch.cat(parts, dim=-1)
+         return torch.cat([parts.pop(rank), *parts], dim=-1)
""",
}
