"""Forgets the target's own token of a round.

Fails: speedup
"""

LINES = {
    "expected_speedup": r"""
-     tokens = sum(acceptance**i for i in range(k + 1))
+     tokens = sum(acceptance**i for i in range(1, k + 1))
""",
}
