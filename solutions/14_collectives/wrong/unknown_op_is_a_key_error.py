"""An op that is not known is a KeyError.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     if op not in RING_STEPS:
-         raise ValueError(f"op {op!r} is none of {', '.join(RING_STEPS)}")
""",
}
