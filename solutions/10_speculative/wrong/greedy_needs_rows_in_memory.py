"""Reads the logits row after row, as they do not lie in a view.

Fails: greedy
"""

LINES = {
    "accept_greedy": r"""
-     best = target_logits.argmax(-1).tolist()
+     best = target_logits.view(-1).view(target_logits.shape).argmax(-1).tolist()
""",
}
