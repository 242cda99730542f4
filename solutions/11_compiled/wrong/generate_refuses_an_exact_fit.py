"""The last place of a cache is never used.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     if len(prompt) + max_new_tokens > max_len:
+     if len(prompt) + max_new_tokens >= max_len:
""",
}
