"""Logits are counted for the last token of each row alone.

Fails: flops
"""

LINES = {
    "step_flops": r"""
-         "head": 2 * tokens * hidden * config.vocab_size,
+         "head": 2 * batch * hidden * config.vocab_size,
""",
}
