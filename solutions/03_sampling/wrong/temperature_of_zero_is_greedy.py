"""temperature accepts t = 0 and keeps the best token, as some engines do.

Fails: filters
"""

LINES = {
    "temperature": r"""
-     if not t > 0:
-         raise ValueError(f"t must be above 0, not {t}")
+     if t < 0:
+         raise ValueError(f"t must not be below 0, but is {t}")
+     if t == 0:
+         return top_k(logits, 1)
""",
}
