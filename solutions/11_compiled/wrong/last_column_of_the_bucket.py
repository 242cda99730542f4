"""Prefill returns the logits of the last column, which is padding.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         return self._forward(padded, positions, torch.tensor([slot], device=device))[0, count - 1]
+         return self._forward(padded, positions, torch.tensor([slot], device=device))[0, -1]
""",
}
