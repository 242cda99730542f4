"""Writes over the caller's logits, to compare guesses in one step.

Fails: greedy
"""

LINES = {
    "accept_greedy": r"""
      best = target_logits.argmax(-1).tolist()
+     target_logits -= target_logits.amax(-1, keepdim=True)
""",
}
