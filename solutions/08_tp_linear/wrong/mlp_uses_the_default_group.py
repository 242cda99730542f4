"""Shards are those of the group, collectives those of the world.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.__init__": r"""
-         self.group = group
+         self.group = None
""",
}
