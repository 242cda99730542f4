"""max() of no prompts raises.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
  ) -> list[list[int]]:
+     longest = max(len(prompt) for prompt in prompts)
+     assert longest >= 0
""",
}
