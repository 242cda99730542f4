"""Takes the prompts two at a time.

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
+     pairs = [prompts[i : i + 2] for i in range(0, len(prompts), 2)]
+     done = [generate_some(model, pair, max_new_tokens, eos_ids, pad_id) for pair in pairs]
+     return [output for outputs in done for output in outputs]
""",
}
