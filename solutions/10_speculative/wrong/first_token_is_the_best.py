"""Reads the prompt first, and takes the best token behind it at any temperature.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
      ended = False
+     if max_new_tokens:
+         text.append(int(target.forward(prompt)[-1].argmax()))
+         stats["target_calls"] = 1
+         ended = text[-1] in eos_ids
+         if ended:
+             text.pop()
""",
}
