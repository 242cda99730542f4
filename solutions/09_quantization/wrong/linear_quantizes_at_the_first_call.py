"""Int8Linear keeps the float layer until it is called for the first time, and quantizes then.

From: variants/simple.py
Fails: linears
"""

LINES = {
    "Int8Linear.from_float": r"""
-         return cls(*quantize_int8(linear.weight), bias)
+         made = cls(torch.zeros(0), torch.zeros(0), bias)
+         made.waiting = [linear.weight]
+         return made
""",
    "Int8Linear.forward": r"""
+         if self.waiting:
+             self.q, self.scale = quantize_int8(self.waiting.pop())
          bias = None if self.bias is None else self.bias.to(x.dtype)
""",
}
