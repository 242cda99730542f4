"""Asks for the first of the texts.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
      def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
+         assert isinstance(prompts[0], str)
""",
}
