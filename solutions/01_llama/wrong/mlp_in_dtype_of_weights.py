"""Works in the weights' dtype, not in the input's.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "swiglu": r"""
-     w_gate, w_up, w_down = (w.to(x.dtype) for w in (w_gate, w_up, w_down))
+     x = x.to(w_gate.dtype)
""",
}
