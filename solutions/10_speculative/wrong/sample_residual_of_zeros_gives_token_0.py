"""Takes the first token where rounding has left nothing of the residual.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
-             return [*draft[:i], _draw(rest, generator)]
+         if _uniform(generator) * q[token] >= p[token]:
+             return [*draft[:i], _draw(rest, generator) if rest.any() else int(rest.argmax())]
""",
}
