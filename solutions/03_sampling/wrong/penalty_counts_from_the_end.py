"""A negative id in the history is taken as an index from the end.

Fails: filters
"""

LINES = {
    "repetition_penalty": r"""
-     if any(not 0 <= token < vocab for tokens in history for token in tokens):
+     if any(not -vocab <= token < vocab for tokens in history for token in tokens):
""",
}
