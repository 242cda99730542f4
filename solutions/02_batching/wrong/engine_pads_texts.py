"""Pads the texts with spaces and not the ids with padding.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
      def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
+         longest = max(map(len, prompts), default=0)
+         prompts = [prompt.rjust(longest) for prompt in prompts]
""",
}
