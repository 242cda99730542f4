"""Pads with 0 whatever pad_id says.

From: variants/plain.py
Fails: pad
"""

LINES = {
    "left_pad": r"""
-     tokens = torch.tensor([[pad_id] * (width - len(row)) + row for row in prompts])
+     tokens = torch.tensor([[0] * (width - len(row)) + row for row in prompts])
""",
}
