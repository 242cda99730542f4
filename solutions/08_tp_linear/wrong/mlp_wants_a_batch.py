"""x must have three axes.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.forward": r"""
-         x = Copy.apply(x, self.group)
+         batch, tokens, width = x.shape
+         x = Copy.apply(x.reshape(batch * tokens, width), self.group)
...
-         return Sum.apply(linear(hidden, self.w_down), self.group)
+         return Sum.apply(linear(hidden, self.w_down), self.group).view(batch, tokens, width)
""",
}
