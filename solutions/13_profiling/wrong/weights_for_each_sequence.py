"""Weights are read for each sequence anew.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     weights = config.num_layers * (matrices + 2 * hidden) + ends
+     weights = config.num_layers * (batch * matrices + 2 * hidden) + ends
""",
}
