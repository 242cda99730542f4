"""Where the width allows it the group of Int4Linear is 64 at least.

From: variants/simple.py
Fails: linears, model
"""

LINES = {
    "Int4Linear.from_float": r"""
+         if linear.in_features % 64 == 0:
+             group = max(group, 64)
          bias = None if linear.bias is None else linear.bias.detach().clone()
""",
}
