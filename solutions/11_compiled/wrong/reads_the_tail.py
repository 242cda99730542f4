"""Rows see all places of their slot, also those behind their position.

Fails: step, prefill, graphs
"""

LINES = {
    "_forward": r"""
-     mask = (keys <= positions.unsqueeze(-1)).unsqueeze(1)  # [B, 1, T, max_len]
+     mask = (keys <= keys[-1] + 0 * positions.unsqueeze(-1)).unsqueeze(1)
""",
}
