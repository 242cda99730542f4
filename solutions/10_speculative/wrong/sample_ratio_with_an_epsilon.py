"""Adds an epsilon to q against a division by 0, so that rare guesses go.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         rest = rest if rest.any() else p
+         if _uniform(generator) >= p[token] / (q[token] + 1e-8):
""",
}
