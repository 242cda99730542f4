"""Stops at once if the prompt holds an EOS.

Fails: generate
"""

LINES = {
    "generate": r"""
      entering, seen = prompt, 0
+     if any(token in eos_ids for token in prompt):
+         return output
""",
}
