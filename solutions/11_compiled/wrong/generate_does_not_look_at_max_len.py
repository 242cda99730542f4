"""generate starts whatever room there is.

Fails: prefill
"""

LINES = {
    "generate": r"""
-     if len(prompt) + max_new_tokens > max_len:
-         text = f"{len(prompt)} + {max_new_tokens} tokens are more than max_len {max_len}"
-         raise ValueError(text)
""",
}
