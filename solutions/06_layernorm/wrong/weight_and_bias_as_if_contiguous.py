"""Weight and bias are read as if their numbers lay one behind the other.

From: variants/simple.py
Fails: forward
"""

LINES = {
    "layer_norm_forward": r"""
-         weight, bias, stride = weight.contiguous(), bias.contiguous(), rows.stride(0)
+         stride = rows.stride(0)
""",
}
