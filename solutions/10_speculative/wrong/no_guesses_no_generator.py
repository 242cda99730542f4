"""Draws from torch's global generator where k is 0.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-             new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, generator)
+             new = accept_sample(
+                 guess, torch.stack([*chances, probs[-1]])[:-1], probs, generator if k else None
+             )
""",
}
