"""The gradient of x through the keys and values is not summed.

From: variants/plain.py
Fails: qkv
"""

LINES = {
    "QKVParallelLinear.forward": r"""
-         x, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
+         copy, wk, wv = Copy.apply(x, self.group), self.wk, self.wv
          if self.replicated:
              wk, wv = Replicate.apply(wk, wv, self.head, self.heads, self.group)
-         return linear(x, self.wq), linear(x, wk), linear(x, wv)
+         return linear(copy, self.wq), linear(x, wk), linear(x, wv)
""",
}
