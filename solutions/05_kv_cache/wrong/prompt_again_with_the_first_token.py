"""The prompt enters a second time with the first new token.

Fails: generate
"""

LINES = {
    "generate": r"""
-     entering, seen = prompt, 0
+     entering, seen, first = prompt, 0, True
...
-         entering, seen = [token], seen + len(entering)
+         if first:
+             caches, first = [make_cache() for _ in range(model.num_layers)], False
+             entering = [*prompt, token]
+         else:
+             entering, seen = [token], seen + len(entering)
""",
}
