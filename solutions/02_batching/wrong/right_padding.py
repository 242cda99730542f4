"""Pads on the right and still reads the last column.

From: variants/plain.py
Fails: pad, generate, engine
"""

LINES = {
    "left_pad": r"""
-     tokens = torch.tensor([[pad_id] * (width - len(row)) + row for row in prompts])
-     gaps = torch.tensor([width - len(row) for row in prompts])
-     valid = torch.arange(width) >= gaps[:, None]
-     return tokens, (valid.cumsum(-1) - 1).clamp(min=0), valid
+     tokens = torch.tensor([row + [pad_id] * (width - len(row)) for row in prompts])
+     lengths = torch.tensor([len(row) for row in prompts])
+     valid = torch.arange(width) < lengths[:, None]
+     return tokens, (valid.cumsum(-1) - 1) * valid, valid
""",
}
