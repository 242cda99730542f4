"""Positions start from 0 at each step.

Fails: generate
"""

LINES = {
    "generate": r"""
-         positions_1T = torch.arange(seen, seen + len(entering))[None]
+         positions_1T = torch.arange(len(entering))[None]
""",
}
