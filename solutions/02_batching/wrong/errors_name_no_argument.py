"""Refuses what is invalid without saying which argument it was.

From: variants/plain.py
Fails: pad, waste, generate
"""

LINES = {
    "left_pad": r"""
-         raise ValueError("prompts must not hold an empty prompt")
+         raise ValueError("no tokens in one of them")
""",
    "padding_waste": r"""
-         raise ValueError("lengths must not be negative")
+         raise ValueError("a length must not be negative")
""",
}
