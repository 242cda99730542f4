"""What is out of range is refused, but the message does not say which argument it is.

Fails: filters
"""

LINES = {
    "temperature": r"""
-         raise ValueError(f"t must be above 0, not {t}")
+         raise ValueError("wrong parameter")
""",
    "top_k": r"""
-         raise ValueError(f"k must be at least 1, not {k}")
+         raise ValueError("wrong parameter")
""",
}
