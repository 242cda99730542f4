"""The first stage owes most weights' gradients, the last one none.

Fails: schedules
"""

LINES = {
    "zero_bubble": r"""
-             if late > stage:
+             if late > stages - 1 - stage:
""",
}
