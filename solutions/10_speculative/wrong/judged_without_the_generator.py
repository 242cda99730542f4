"""Draws guesses from the generator, and judges them by torch's global one.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-             new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, generator)
+             new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, None)
""",
}
