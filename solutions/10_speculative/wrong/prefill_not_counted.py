"""Counts rounds, and forgets the call for the prompt.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
      ended = False
+     if len(prompt) > 1 and max_new_tokens:
+         target.forward(prompt[:-1])
""",
}
