"""A tied head is taken to cost no operations.

Fails: flops
"""

LINES = {
    "step_flops": r"""
-         "head": 2 * tokens * hidden * config.vocab_size,
+         "head": 2 * tokens * hidden * config.vocab_size * (not config.tie_word_embeddings),
""",
}
