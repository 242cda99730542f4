"""Calls the target for each guess by itself.

Fails: generate
"""

LINES = {
    "speculative_generate": r"""
-         logits = _read(target, text + guess)[-len(guess) - 1 :]
+         logits = torch.cat([_read(target, text + guess[:i])[-1:] for i in range(len(guess) + 1)])
...
-         stats["target_calls"] += 1
+         stats["target_calls"] += len(guess) + 1
""",
}
