"""Compares logits that were rounded to float16, where large ones are infinite.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     best = target_logits.argmax(-1).tolist()
+     best = target_logits.half().argmax(-1).tolist()
""",
}
