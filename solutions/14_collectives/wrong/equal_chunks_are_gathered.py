"""Places are counted as if all chunks were equally long.

Fails: all_gather, all_reduce
"""

LINES = {
    "all_gather": r"""
-         start, stop = bounds[(rank - step) % world]
-         whole[start:stop] = chunk
+         start = (rank - step) % world * (n // world)
+         whole[start : start + len(chunk)] = chunk[: n - start]
""",
}
