"""New tokens leave a position out behind the prompt.

Fails: generate
"""

LINES = {
    "generate": r"""
-         entering, seen = [token], seen + len(entering)
+         entering, seen = [token], len(prompt) + len(output)
""",
}
