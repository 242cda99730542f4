"""Adds up the last row in place to draw from it.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-     return [*draft, _draw(target_probs[len(draft)], generator)]
+     sums = target_probs[len(draft)].cumsum_(0)
+     return [*draft, min(int((sums <= _uniform(generator) * sums[-1]).sum()), len(sums) - 1)]
""",
}
