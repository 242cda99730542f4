"""All rows see as many places as the row that is furthest.

Fails: step, graphs
"""

LINES = {
    "_forward": r"""
-     mask = (keys <= positions.unsqueeze(-1)).unsqueeze(1)  # [B, 1, T, max_len]
+     furthest = positions.amax(0, keepdim=True)
+     mask = (keys <= furthest.unsqueeze(-1)).unsqueeze(1).expand(len(tokens), -1, -1, -1)
""",
}
