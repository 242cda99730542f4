"""Returns the EOS with the text.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         new = new[:before_eos]
+         new = new[: before_eos + 1]
""",
}
