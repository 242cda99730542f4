"""Goes on calling the model when all rows have ended.

From: variants/grown.py
Fails: generate
"""

LINES = {
    "generate": r"""
  ) -> list[list[int]]:
+     if not prompts:
+         return []
...
-         if all(done):
-             break
""",
}
