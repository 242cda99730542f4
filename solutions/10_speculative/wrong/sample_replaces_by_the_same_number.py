"""Draws the replacement with the number that rejected the guess.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
-             return [*draft[:i], _draw(rest, generator)]
+         u = _uniform(generator)
+         if u * q[token] >= p[token] and rest.any():
+             rest = rest / rest.sum()
+             return [*draft[:i], min(int((rest.cumsum(0) <= u).sum()), len(rest) - 1)]
""",
}
