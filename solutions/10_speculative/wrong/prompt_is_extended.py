"""Appends to the caller's prompt.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-     text, end = list(prompt), len(prompt) + max_new_tokens
+     text, start, end = prompt, len(prompt), len(prompt) + max_new_tokens
...
-     return text[len(prompt) :], stats
+     return text[start:], stats
""",
}
