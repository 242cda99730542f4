"""Collects answers by prompt, so that equal prompts collect twice.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     outputs: list[list[int]] = [[] for _ in prompts]
+     outputs: list[list[int]] = list({tuple(p): [] for p in prompts}.values())
+     slots = {
+         tuple(p): slot for p, slot in zip(dict.fromkeys(map(tuple, prompts)), outputs, strict=True)
+     }
+     outputs = [slots[tuple(p)] for p in prompts]
""",
}
