"""Tensors without elements are launched too.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-   if (gate.numel() == 0) return out;  // a grid of no blocks is an error
""",
}
