"""Walks along the residual as if it added up to 1.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-             return [*draft[:i], _draw(rest, generator)]
+             u = _uniform(generator)
+             return [*draft[:i], min(int((rest.cumsum(0) <= u).sum()), len(rest) - 1)]
""",
}
