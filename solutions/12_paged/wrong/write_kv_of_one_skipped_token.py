"""A single token that is to be skipped is written to place 0.

Fails: torch
"""

LINES = {
    "write_kv": r"""
-     real = slots >= 0
+     if len(slots) == 1:
+         k, v, slots = k[:1], v[:1], slots.clamp(min=0)
+     real = slots >= 0
""",
}
