"""Keeps a guess with the target's probability, whatever the draft's.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         if _uniform(generator) * q[token] >= p[token] and rest.any():
+         if _uniform(generator) >= p[token] and rest.any():
""",
}
