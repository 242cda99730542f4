"""Looks chances up by their place in memory, as they do not lie in a view.

Fails: sample
"""

LINES = {
    "accept_sample": r"""
-     for i, token in enumerate(draft):
-         p, q = target_probs[i], draft_probs[i]
+     vocab = target_probs.shape[1]
+     for i, token in enumerate(draft):
+         p = target_probs.view(-1)[i * vocab :][:vocab]
+         q = draft_probs.view(-1)[i * vocab :][:vocab]
""",
}
