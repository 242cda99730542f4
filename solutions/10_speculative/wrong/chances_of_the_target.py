"""Takes the target's probabilities for the draft's.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         guess, chances = _guess(draft, text, room, temperature, generator)
+         guess, _ = _guess(draft, text, room, temperature, generator)
...
-             new = accept_sample(guess, torch.stack([*chances, probs[-1]])[:-1], probs, generator)
+             new = accept_sample(guess, probs[:-1], probs, generator)
""",
}
