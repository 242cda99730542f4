"""Sums below 0 are made 0.

Fails: memory
"""

LINES = {
    "peak_memory": r"""
-             held[device] += args["Bytes"]
+             held[device] = max(0, held[device] + args["Bytes"])
""",
}
