"""Products are made in float32 and not cast back.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.forward": r"""
-         return linear(x, self.wq), linear(x, wk), linear(x, wv)
+         x = x.float()
+         return linear(x, self.wq.float()), linear(x, wk.float()), linear(x, wv.float())
""",
}
