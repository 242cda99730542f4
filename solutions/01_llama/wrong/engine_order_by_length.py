"""execute returns the texts in the order of the prompts' lengths.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "Engine.execute": r"""
-         for prompt in prompts:
+         for prompt in sorted(prompts, key=len, reverse=True):
""",
}
