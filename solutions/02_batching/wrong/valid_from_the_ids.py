"""Takes every pad_id for padding, in prompts and outputs too.

From: variants/plain.py
Fails: pad, generate, engine
"""

LINES = {
    "left_pad": r"""
-     gaps = torch.tensor([width - len(row) for row in prompts])
-     valid = torch.arange(width) >= gaps[:, None]
+     valid = tokens != pad_id
""",
}
