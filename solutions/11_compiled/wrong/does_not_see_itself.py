"""A token does not see its own place, but in an empty slot.

Fails: step, prefill, graphs
"""

LINES = {
    "_forward": r"""
-     mask = (keys <= positions.unsqueeze(-1)).unsqueeze(1)  # [B, 1, T, max_len]
+     mask = (keys <= (positions.unsqueeze(-1) - 1).clamp(min=0)).unsqueeze(1)
""",
}
