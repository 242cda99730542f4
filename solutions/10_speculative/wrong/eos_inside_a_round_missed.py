"""Looks for an EOS only at the end of a round.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         before_eos = next((i for i, token in enumerate(new) if token in eos_ids), len(new))
+         before_eos = len(new) - 1 if new[-1] in eos_ids else len(new)
""",
}
