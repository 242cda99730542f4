"""Replaces a rejected guess by any other token, as the target likes them.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-         rest = (p - q).clamp(min=0)
+         rest = p.clone()
+         rest[token] = 0
""",
}
