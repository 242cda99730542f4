"""A tree is taken for every op.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     if algorithm not in ("ring", "tree") or (algorithm == "tree" and op != "all_reduce"):
+     if algorithm not in ("ring", "tree"):
""",
}
