"""Padding is written at position 0, over the first token.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         positions = torch.arange(size, device=device).unsqueeze(0)
+         positions = torch.arange(size, device=device).unsqueeze(0)
+         positions = positions * (positions < count)
""",
}
