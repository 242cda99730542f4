"""A new token's position is the number of steps.

Fails: generate
"""

LINES = {
    "generate": r"""
-         entering, seen = [token], seen + len(entering)
+         entering, seen = [token], seen + 1
""",
}
