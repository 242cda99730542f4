"""Appends the new tokens to the lists of the caller.

From: variants/plain.py
Fails: generate
"""

LINES = {
    "generate": r"""
-     outputs: list[list[int]] = [[] for _ in prompts]
      live = list(range(len(prompts)))
+     starts = [len(prompt) for prompt in prompts]
...
-         tokens, positions, valid = left_pad([prompts[i] + outputs[i] for i in live], pad_id)
+         tokens, positions, valid = left_pad([prompts[i] for i in live], pad_id)
...
-             outputs[i].append(chosen[i])
-     return outputs
+             prompts[i].append(chosen[i])
+     return [prompt[start:] for prompt, start in zip(prompts, starts, strict=True)]
""",
}
