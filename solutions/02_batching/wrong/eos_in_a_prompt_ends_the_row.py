"""A row whose prompt holds an EOS id never starts.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     live = list(range(len(prompts)))
+     live = [i for i, prompt in enumerate(prompts) if not set(prompt) & set(eos_ids)]
""",
}
