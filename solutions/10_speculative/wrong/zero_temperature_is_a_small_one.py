"""Samples at a temperature of 0.001 in the place of 0.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
+     temperature = max(temperature, 1e-3)
      text, end = list(prompt), len(prompt) + max_new_tokens
""",
}
