"""Adds an epsilon to each token of the residual, so that none has the chance 0.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-         rest = (p - q).clamp(min=0)
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         rest = (p - q).clamp(min=1e-8)
+         if _uniform(generator) * q[token] >= p[token]:
""",
}
