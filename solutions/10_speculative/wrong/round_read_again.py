"""Takes the draft's guesses back after each round, accepted or not, and reads the round again.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         for model in (target, draft):
-             model.rewind(max(0, model.length - len(text) - accepted))
+         target.rewind(max(0, target.length - len(text) - accepted))
+         draft.rewind(max(0, draft.length - len(text)))
""",
}
