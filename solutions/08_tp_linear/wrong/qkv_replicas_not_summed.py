"""A head that several ranks hold gets each rank's own share of the gradient.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.forward": r"""
-         if self.replicated:
-             wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
""",
}
