"""The last token of the prompt enters once more, to get the first logits.

Fails: generate
"""

LINES = {
    "generate": r"""
      entering, seen = prompt, 0
+     if len(prompt) > 1 and max_new_tokens:
+         places = torch.arange(len(prompt))[None]
+         model(torch.tensor([prompt]), places, caches=caches, attend=attend)
+         entering, seen = prompt[-1:], len(prompt) - 1
""",
}
