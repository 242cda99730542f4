"""Looks at the first guess without asking whether there is one.

Fails: sample, generate
"""

LINES = {
    "accept_sample": r"""
-     for i, token in enumerate(draft):
+     if draft_probs[0, draft[0]] == 0:
+         draft = []
+     for i, token in enumerate(draft):
""",
}
