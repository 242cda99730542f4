"""Slots are kept in eight bits with a sign.

Fails: cache, step
"""

LINES = {
    "StaticCache.layers": r"""
-         pairs = zip(self.keys, self.values, strict=True)
+         slots = slots.to(torch.int8).long()
+         pairs = zip(self.keys, self.values, strict=True)
""",
}
