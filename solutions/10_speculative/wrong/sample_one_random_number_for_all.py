"""Draws one random number and judges all guesses by it.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
+     u = _uniform(generator)
      for i, token in enumerate(draft):
...
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         if u * q[token] >= p[token] and rest.any():
""",
}
