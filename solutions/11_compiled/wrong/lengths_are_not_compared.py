"""Lists of unequal length are cut to the shortest.

Fails: graphs
"""

LINES = {
    "GraphRunner.step": r"""
-         n = len(tokens)
+         n = min(map(len, (tokens, positions, slots)))
+         tokens, positions, slots = tokens[:n], positions[:n], slots[:n]
""",
}
