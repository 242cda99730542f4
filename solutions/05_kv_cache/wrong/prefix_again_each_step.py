"""Passes the whole sequence at each step, with fresh caches.

Fails: generate
"""

LINES = {
    "generate": r"""
-     caches = [make_cache() for _ in range(model.num_layers)]
      output: list[int] = []
-     entering, seen = prompt, 0
      while len(output) < max_new_tokens:
-         positions_1T = torch.arange(seen, seen + len(entering))[None]
+         caches = [make_cache() for _ in range(model.num_layers)]
+         entering = prompt + output
+         positions_1T = torch.arange(len(entering))[None]
...
-         entering, seen = [token], seen + len(entering)
""",
}
