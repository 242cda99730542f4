"""An empty prompt becomes a row of padding.

From: variants/plain.py
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
-     if not all(prompts):
-         raise ValueError("prompts must not hold an empty prompt")
""",
}
