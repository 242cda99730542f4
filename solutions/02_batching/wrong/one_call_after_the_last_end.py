"""Notices one step late that all rows have ended.

From: variants/grown.py
Fails: generate
"""

LINES = {
    "generate": r"""
  ) -> list[list[int]]:
+     if not prompts:
+         return []
...
      for _ in range(max_new_tokens):
+         logits = model(tokens, positions, causal_mask(valid))
          if all(done):
              break
-         logits = model(tokens, positions, causal_mask(valid))
""",
}
