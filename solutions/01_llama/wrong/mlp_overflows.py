"""SiLU as exp(x) / (1 + exp(x)): infinity over infinity for large gates.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "swiglu": r"""
-     return (F.silu(x @ w_gate.T) * (x @ w_up.T)) @ w_down.T
+     gate = x @ w_gate.T
+     return (gate * gate.exp() / (1 + gate.exp()) * (x @ w_up.T)) @ w_down.T
""",
}
