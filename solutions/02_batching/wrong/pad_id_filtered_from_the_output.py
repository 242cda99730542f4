"""Removes pad_id from the answers.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     return outputs
+     return [[token for token in output if token != pad_id] for output in outputs]
""",
}
