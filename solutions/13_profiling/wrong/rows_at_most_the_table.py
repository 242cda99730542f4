"""More rows than the table has are not counted.

Fails: bytes, roofline
"""

LINES = {
    "step_bytes": r"""
-     ends = (batch * new + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
+     ends = (min(batch * new, config.vocab_size) + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
""",
}
