"""Looks for one EOS id after the other, so that not the first EOS of a round ends the text.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         before_eos = next((i for i, token in enumerate(new) if token in eos_ids), len(new))
+         before_eos = next((new.index(token) for token in eos_ids if token in new), len(new))
""",
}
