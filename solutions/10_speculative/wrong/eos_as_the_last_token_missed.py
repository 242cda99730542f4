"""Looks for an EOS among the guesses only.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         before_eos = next((i for i, token in enumerate(new) if token in eos_ids), len(new))
+         before_eos = next((i for i, token in enumerate(new[:-1]) if token in eos_ids), len(new))
""",
}
