"""The whole embedding table is read in each step.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     ends = (batch * new + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
+     ends = (config.vocab_size + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
""",
}
