"""Of equal logits the higher id comes first.

Fails: filters
"""

LINES = {
    "_ranking": r"""
-     return logits.sort(dim=-1, descending=True, stable=True).indices
+     return logits.sort(dim=-1, stable=True).indices.flip(-1)
""",
}
