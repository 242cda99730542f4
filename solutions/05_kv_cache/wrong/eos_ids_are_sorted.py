"""Sorts the caller's list of EOS ids.

Fails: generate
"""

LINES = {
    "generate": r"""
      output: list[int] = []
+     if isinstance(eos_ids, list):
+         eos_ids.sort()
""",
}
