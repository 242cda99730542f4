"""max_new_tokens=0 gives one token.

Fails: generate
"""

LINES = {
    "generate": r"""
-     while len(output) < max_new_tokens:
+     while len(output) < max(1, max_new_tokens):
""",
}
