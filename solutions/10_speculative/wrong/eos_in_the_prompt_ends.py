"""Ends at once if the prompt holds an EOS.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-     while len(text) < end and not ended:
+     while len(text) < end and not any(token in eos_ids for token in prompt) and not ended:
""",
}
