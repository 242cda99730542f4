"""Calls the draft twice for each guess.

Fails: generate
"""

LINES = {
    "_guess": r"""
      for _ in range(k):
+         logits = _read(model, text + guess)[-1]
+         model.rewind(1)
""",
}
