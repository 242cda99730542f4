"""Answers are filled with pad_id up to the longest one.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     return outputs
+     longest = max(map(len, outputs), default=0)
+     return [output + [pad_id] * (longest - len(output)) for output in outputs]
""",
}
