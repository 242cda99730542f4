"""Refuses an empty prompt only when no other prompt is there.

From: variants/plain.py
Fails: pad, generate
"""

LINES = {
    "left_pad": r"""
-     if not all(prompts):
+     if prompts and not any(prompts):
""",
}
