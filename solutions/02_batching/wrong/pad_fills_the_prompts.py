"""Pads the lists of the caller in place.

From: variants/plain.py
Fails: pad
"""

LINES = {
    "left_pad": r"""
-     tokens = torch.tensor([[pad_id] * (width - len(row)) + row for row in prompts])
      gaps = torch.tensor([width - len(row) for row in prompts])
+     for row in prompts:
+         row[:0] = [pad_id] * (width - len(row))
+     tokens = torch.tensor(prompts)
""",
}
