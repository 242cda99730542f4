"""Replaces a rejected guess by the target's law instead of the residual.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         rest = (p - q).clamp(min=0)
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
-             return [*draft[:i], _draw(rest, generator)]
+         if _uniform(generator) * q[token] >= p[token]:
+             return [*draft[:i], _draw(p, generator)]
""",
}
