"""Without max_new_tokens an answer has 64 tokens at most.

From: variants/plain.py
Fails: engine
"""

LINES = {
    "BatchEngine.execute": r"""
-     def execute(self, prompts: list[str], max_new_tokens: int = 128) -> list[str]:
+     def execute(self, prompts: list[str], max_new_tokens: int = 64) -> list[str]:
""",
}
