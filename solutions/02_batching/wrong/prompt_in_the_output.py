"""Returns prompt and answer.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-     return outputs
+     return [prompt + output for prompt, output in zip(prompts, outputs, strict=True)]
""",
}
