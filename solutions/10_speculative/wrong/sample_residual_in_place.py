"""Writes the residual into the caller's probabilities.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-             return [*draft[:i], _draw(rest, generator)]
+             return [*draft[:i], _draw(p.copy_(rest), generator)]
""",
}
