"""Positions start from 0 at each step.

Fails: generate
"""

LINES = {
    "generate": r"""
-         positions = torch.arange(seen, seen + len(entering))[None]
+         positions = torch.arange(len(entering))[None]
""",
}
