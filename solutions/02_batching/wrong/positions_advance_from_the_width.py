"""New tokens get their column as position.

From: variants/grown.py
Fails: generate, engine
"""

LINES = {
    "generate": r"""
-         positions = (valid.cumsum(-1) - 1).clamp(min=0)
+         column = torch.full((len(prompts), 1), valid.shape[1] - 1)
+         positions = torch.cat((positions, column), dim=1)
""",
}
