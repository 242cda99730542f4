"""Nothing is warmed up.

Fails: measure
"""

LINES = {
    "measure": r"""
-     for _ in range(warmup):
-         fn()
""",
}
