"""Copies the EOS ids in a way that lists know and tuples do not.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-     ended = False
+     ended, eos_ids = False, eos_ids.copy()
""",
}
