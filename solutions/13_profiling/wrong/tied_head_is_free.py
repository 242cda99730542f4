"""A tied head is taken to read nothing.

Fails: bytes
"""

LINES = {
    "step_bytes": r"""
-     ends = (batch * new + config.vocab_size + 1) * hidden  # rows of the table, head, last norm
+     head = 0 if config.tie_word_embeddings else config.vocab_size
+     ends = (batch * new + head + 1) * hidden
""",
}
