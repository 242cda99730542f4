"""Sorts by length for less padding and returns the answers in that order.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
  ) -> list[list[int]]:
+     prompts = sorted(prompts, key=len)
""",
}
