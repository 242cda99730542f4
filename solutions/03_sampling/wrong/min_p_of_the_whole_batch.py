"""min_p takes the best probability of the batch for that of each row.

Fails: filters
"""

LINES = {
    "min_p": r"""
-     best = probabilities.amax(-1, keepdim=True)
+     best = probabilities.amax()
""",
}
