"""Appends the new tokens to the list of the prompt.

Fails: generate
"""

LINES = {
    "generate": r"""
-     entering, seen = prompt, 0
+     entering, seen = list(prompt), 0
...
-         entering, seen = [token], seen + len(entering)
+         prompt.append(token)
+         entering, seen = [token], len(prompt) - 1
""",
}
