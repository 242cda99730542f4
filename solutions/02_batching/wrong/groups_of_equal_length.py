"""Avoids padding: one call for each length.

From: variants/plain.py
Fails: generate, engine
"""

LINES = {
    "": r"""
- def generate(
+ def generate_some(
...
      return outputs
+
+
+ def generate(
+     model: Model,
+     prompts: list[list[int]],
+     max_new_tokens: int,
+     eos_ids: Sequence[int],
+     pad_id: int,
+ ) -> list[list[int]]:
+     outputs: list[list[int]] = [[] for _ in prompts]
+     for length in {len(prompt) for prompt in prompts}:
+         rows = [i for i, prompt in enumerate(prompts) if len(prompt) == length]
+         group = [prompts[i] for i in rows]
+         for i, output in zip(
+             rows, generate_some(model, group, max_new_tokens, eos_ids, pad_id), strict=True
+         ):
+             outputs[i] = output
+     return outputs
""",
}
