"""One row of the table is read for each sequence.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-     ends = (batch * new + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
+     ends = (batch + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
""",
}
