"""Divides by 0 where every guess is accepted.

Fails: speedup
"""

LINES = {
    "expected_speedup": r"""
-     tokens = sum(acceptance**i for i in range(k + 1))
+     tokens = (1 - acceptance ** (k + 1)) / (1 - acceptance)
""",
}
