"""The draft's cache gives back two tokens more than it has to, and they are not read again.

From: variants/draft_in_step.py
Kind: state
Report: https://github.com/lablup/mlxcel/issues/994
Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         for model in (target, draft):
-             model.rewind(len(guess) - keep)
+         target.rewind(len(guess) - keep)
+         draft.rewind(min(len(guess) - keep + 2 * (keep < len(guess)), draft.length))
""",
}
