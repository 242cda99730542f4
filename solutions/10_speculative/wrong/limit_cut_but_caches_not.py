"""Cuts the text at max_new_tokens, but not the caches.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         room = min(k, end - len(text) - 1)
+         room = k
...
-     return text[len(prompt) :], stats
+     return text[len(prompt) : end], stats
""",
}
