"""The function adds one to what the library gives.

Fails: wrapper
"""

LINES = {
    "twice": r"""
-     return torch.ops.demo93.twice(x)
+     return torch.ops.demo93.twice(x) + 1
""",
}
