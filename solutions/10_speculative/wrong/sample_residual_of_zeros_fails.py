"""Divides by the sum of a residual that rounding has left without a token.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
-             return [*draft[:i], _draw(rest, generator)]
+         if _uniform(generator) * q[token] >= p[token]:
+             return [*draft[:i], _draw(rest / rest.sum(), generator)]
""",
}
