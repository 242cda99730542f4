"""Takes x to be [B, T, E] always.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "swiglu": r"""
+     batch, length, _ = x.shape
      w_gate, w_up, w_down = (w.to(x.dtype) for w in (w_gate, w_up, w_down))
-     return (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T
+     out = (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T
+     return out.view(batch, length, -1)
""",
}
