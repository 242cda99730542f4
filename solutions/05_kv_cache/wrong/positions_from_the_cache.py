"""Asks the cache of the first layer for its length.

Fails: generate
"""

LINES = {
    "generate": r"""
-     entering, seen = prompt, 0
+     entering = prompt
...
-         positions_1T = torch.arange(seen, seen + len(entering))[None]
+         seen = caches[0].length
+         positions_1T = torch.arange(seen, seen + len(entering))[None]
...
-         entering, seen = [token], seen + len(entering)
+         entering = [token]
""",
}
