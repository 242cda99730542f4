"""Turns clockwise: the sign of the sine is flipped.

From: variants/plain.py
Fails: rope, model, engine
"""

LINES = {
    "apply_rope": r"""
-     turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
+     turned = torch.cat((first * cos + second * sin, second * cos - first * sin), dim=-1)
""",
}
