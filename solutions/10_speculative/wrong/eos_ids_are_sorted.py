"""Sorts the caller's EOS ids.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
      ended = False
+     if isinstance(eos_ids, list):
+         eos_ids.sort()
""",
}
