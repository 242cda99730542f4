"""top_p with p = 1 drops tokens once the rounded sum has reached 1.

Fails: filters
"""

LINES = {
    "top_p": r"""
-     return _remove(logits, order, (in_front >= p) & (p < 1))
+     return _remove(logits, order, in_front >= p)
""",
}
