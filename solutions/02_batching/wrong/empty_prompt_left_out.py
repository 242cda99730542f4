"""An empty prompt gets an empty answer, as if its row had ended.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     live = list(range(len(prompts)))
+     live = [i for i, prompt in enumerate(prompts) if prompt]
""",
}
