"""left_pad returns the rows from longest to shortest.

From: variants/plain.py
Fails: pad, generate, engine
"""

LINES = {
    "left_pad": r"""
          raise ValueError("prompts must not hold an empty prompt")
+     prompts = sorted(prompts, key=len, reverse=True)
""",
}
