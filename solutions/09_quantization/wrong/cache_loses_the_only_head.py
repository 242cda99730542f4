"""Where there is one head only, scales lose its axis.

From: variants/simple.py
Fails: cache
"""

LINES = {
    "QuantizedCache.update": r"""
-             q, scale = q.reshape(x.shape), scale.reshape(*x.shape[:3], 1)
+             q, scale = q.reshape(x.shape), scale.reshape(x.shape[:3]).squeeze(1)[..., None]
...
-                 self.parts[index] = torch.cat((old_q, q), 2), torch.cat((old_scale, scale), 2)
+                 self.parts[index] = torch.cat((old_q, q), 2), torch.cat((old_scale, scale), -2)
""",
    "QuantizedCache.rewind": r"""
-         self.parts = [(q[:, :, : self.length], s[:, :, : self.length]) for q, s in self.parts]
+         self.parts = [(q[:, :, : self.length], s[..., : self.length, :]) for q, s in self.parts]
""",
}
