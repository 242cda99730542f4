"""The time of one call is multiplied by their number.

Kind: contracts
Report: https://github.com/pytorch/pytorch/pull/177765
Fails: measure
"""

LINES = {
    "measure": r"""
-         times.append(clock() - start)
+         times.append((clock() - start) * repeats)
""",
}
