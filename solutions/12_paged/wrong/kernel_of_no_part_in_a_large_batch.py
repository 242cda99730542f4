"""Where rows alone are more than the programs that a GPU is to have, each has no part at all.

Fails: triton
"""

LINES = {
    "paged_attention": r"""
-     parts = max(1, min(PROGRAMS // (batch * groups), triton.cdiv(longest, SHORTEST)))
+     parts = min(PROGRAMS // (batch * groups), triton.cdiv(longest, SHORTEST))
""",
}
