"""No steps are taken for a mistake.

Fails: buckets
"""

LINES = {
    "plan_sizes": r"""
-     if count < 1:
+     if count < 1 or not histogram:
""",
}
