"""gate is read as if it were contiguous.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
    if (gate.numel() == 0) return out;  // a grid of no blocks is an error
-   gate = torch::stable::contiguous(gate);
""",
}
