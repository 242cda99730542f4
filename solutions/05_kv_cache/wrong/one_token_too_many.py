"""Stops when there is one more than max_new_tokens.

Fails: generate
"""

LINES = {
    "generate": r"""
-     while len(output) < max_new_tokens:
+     while len(output) <= max_new_tokens:
""",
}
