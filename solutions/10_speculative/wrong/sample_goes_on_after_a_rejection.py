"""Replaces a rejected guess and goes on with the next one.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     out: list[int] = []
      for i, token in enumerate(draft):
...
-             return [*draft[:i], _draw(rest, generator)]
-     return [*draft, _draw(target_probs[len(draft)], generator)]
+             out.append(_draw(rest, generator))
+         else:
+             out.append(token)
+     return [*out, _draw(target_probs[len(draft)], generator)]
""",
}
