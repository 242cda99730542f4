"""Padding of a prompt is written over its last token.

Fails: prefill
"""

LINES = {
    "Prefill.__call__": r"""
-         positions = torch.arange(size, device=device).unsqueeze(0)
+         positions = torch.arange(size, device=device).clamp(max=count - 1).unsqueeze(0)
""",
}
