"""With one rank the result is a view of x.

Fails: reduce_scatter
"""

LINES = {
    "reduce_scatter": r"""
-     total = x[start:stop].clone()
+     total = x[start:stop]
""",
}
