"""All weights' gradients come at the end, and all inputs are kept for them.

Fails: schedules
"""

LINES = {
    "zero_bubble": r"""
-             if late > stage:
+             if late > microbatches:
""",
}
