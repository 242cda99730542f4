"""Emits nothing behind the guesses when all are accepted.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-     return [*draft, _draw(target_probs[len(draft)], generator)]
+     return draft or [_draw(target_probs[0], generator)]
""",
}
