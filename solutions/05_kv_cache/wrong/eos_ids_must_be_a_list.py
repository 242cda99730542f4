"""Adds an id to the list of EOS ids, which a tuple does not take.

Fails: generate
"""

LINES = {
    "generate": r"""
+     ends = eos_ids + [-1]
      output: list[int] = []
...
-         if token in eos_ids:
+         if token in ends:
""",
}
