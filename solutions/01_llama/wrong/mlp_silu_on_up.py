"""SiLU is applied to the wrong branch.

From: variants/plain.py
Fails: mlp, model, engine
"""

LINES = {
    "swiglu": r"""
-     return (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T
+     return (x @ w_gate.T * F.silu(x @ w_up.T)) @ w_down.T
""",
}
