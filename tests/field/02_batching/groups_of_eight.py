"""A batch is cut into groups of eight rows, the most that an adapter takes at a time.

Kind: sizes
Report: https://github.com/unslothai/unsloth-zoo/pull/956
Fails: generate, engine
"""

LINES = {
    "generate": r"""
+     if len(prompts) > 8:
+         groups = [prompts[i : i + 8] for i in range(0, len(prompts), 8)]
+         parts = [generate(model, group, max_new_tokens, eos_ids, pad_id) for group in groups]
+         return [row for part in parts for row in part]
      outputs: list[list[int]] = [[] for _ in prompts]
""",
}
