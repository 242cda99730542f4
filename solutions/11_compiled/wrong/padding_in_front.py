"""Prompts are padded on the left, and their positions count the padding.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         padded = torch.tensor([tokens + [0] * (size - count)], device=device)
+         padded = torch.tensor([[0] * (size - count) + tokens], device=device)
...
-         return self._forward(padded, positions, torch.tensor([slot], device=device))[0, count - 1]
+         return self._forward(padded, positions, torch.tensor([slot], device=device))[0, -1]
""",
}
