"""A negative warm-up is none.

Fails: measure
"""

LINES = {
    "measure": r"""
-     if warmup < 0:
-         raise ValueError(f"warmup is {warmup}, and should be 0 or more")
""",
}
