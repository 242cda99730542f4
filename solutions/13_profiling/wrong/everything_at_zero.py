"""Everything lies at 0.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-         offsets[i] = at
+         offsets[i] = 0
""",
}
