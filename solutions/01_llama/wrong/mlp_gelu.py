"""GELU for SiLU.

From: variants/plain.py
Fails: mlp, model, engine
"""

LINES = {
    "swiglu": r"""
-     return (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T
+     return (F.gelu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T
""",
}
