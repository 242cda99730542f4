"""Each new token gets the position of the prompt's last one.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         positions = (valid.cumsum(-1) - 1).clamp(min=0)
+         positions = torch.cat((positions, positions[:, -1:]), dim=1)
""",
}
