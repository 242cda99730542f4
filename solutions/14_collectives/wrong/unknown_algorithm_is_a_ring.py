"""Any other algorithm is a ring.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     if algorithm not in ("ring", "tree") or (algorithm == "tree" and op != "all_reduce"):
+     if algorithm == "tree" and op != "all_reduce":
""",
}
