"""Empties both caches after each round in which tokens were drawn.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-             model.rewind(max(0, model.length - len(text) - accepted))
+             model.rewind(
+                 model.length if temperature else max(0, model.length - len(text) - accepted)
+             )
""",
}
