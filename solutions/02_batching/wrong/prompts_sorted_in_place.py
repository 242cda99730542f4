"""Sorts the caller's prompts by length and returns the answers in the order they had.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     outputs: list[list[int]] = [[] for _ in prompts]
+     order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
+     prompts[:] = [prompts[i] for i in order]
+     outputs: list[list[int]] = [[] for _ in prompts]
...
-     return outputs
+     return [outputs[order.index(i)] for i in range(len(prompts))]
""",
}
