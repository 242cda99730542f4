"""Ended rows leave the batch, but results go to rows by their place in the batch.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-             outputs[i].append(chosen[i])
+             outputs[live.index(i)].append(chosen[i])
""",
}
