"""What comes is put to the right of the own chunk, and not to the left.

Fails: all_gather, all_reduce
"""

LINES = {
    "all_gather": r"""
-         start, stop = bounds[(rank - step) % world]
-         whole[start:stop] = chunk
+         start, stop = bounds[(rank + step) % world]
+         whole[start : start + len(chunk)] = chunk[: len(whole) - start]
""",
}
