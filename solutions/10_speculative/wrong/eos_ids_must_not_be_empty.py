"""Needs at least one EOS id.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-     ended = False
+     ended, lowest = False, min(eos_ids)
...
-         before_eos = next((i for i, token in enumerate(new) if token in eos_ids), len(new))
+         before_eos = next(
+             (i for i, token in enumerate(new) if token >= lowest and token in eos_ids), len(new)
+         )
""",
}
