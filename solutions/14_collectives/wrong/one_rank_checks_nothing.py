"""With one rank the answer is 0, whatever is asked.

Fails: cost
"""

LINES = {
    "seconds": r"""
-     if op not in RING_STEPS:
+     if world == 1:
+         return 0.0
+     if op not in RING_STEPS:
""",
}
