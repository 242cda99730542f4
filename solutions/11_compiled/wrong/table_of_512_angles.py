"""Angles are kept for 512 positions: what lies behind has those of the last.

Fails: step
"""

LINES = {
    "_forward": r"""
-     return model(tokens, positions, mask, cache.layers(positions, slots))
+     return model(tokens, positions.clamp(max=511), mask, cache.layers(positions, slots))
""",
}
