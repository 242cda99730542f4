"""Compares logits that were rounded to bfloat16.

Fails: greedy, generate
"""

LINES = {
    "accept_greedy": r"""
-     best = target_logits.argmax(-1).tolist()
+     best = target_logits.bfloat16().argmax(-1).tolist()
""",
}
