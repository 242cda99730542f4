"""Continues two rows, as in the example of the handout.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-     live = list(range(len(prompts)))
+     live = list(range(len(prompts)))[:2]
""",
}
