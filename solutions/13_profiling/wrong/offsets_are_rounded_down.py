"""Offsets are rounded down to a multiple of 64.

Fails: memory
"""

LINES = {
    "plan_memory": r"""
-             at = max(at, math.ceil(end / ALIGNMENT) * ALIGNMENT)
+             at = max(at, end // ALIGNMENT * ALIGNMENT)
""",
}
