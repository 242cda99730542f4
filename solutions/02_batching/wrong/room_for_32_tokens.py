"""Cuts prompts to the last 32 tokens.

From: variants/plain.py
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
          raise ValueError("prompts must not hold an empty prompt")
+     prompts = [row[-32:] for row in prompts]
""",
}
