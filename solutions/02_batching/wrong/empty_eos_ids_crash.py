"""Takes for granted that there is an EOS id.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
      outputs: list[list[int]] = [[] for _ in prompts]
+     assert eos_ids[0] >= 0
""",
}
