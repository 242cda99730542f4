"""Accepts with probability min(1, q/p).

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         if _uniform(generator) * p[token] >= q[token]:
""",
}
