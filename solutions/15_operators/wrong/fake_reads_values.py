"""The fake of silu_mul looks at a value.

Fails: fake
"""

LINES = {
    "_fake_silu_mul": r"""
+     if gate.numel() and float(gate.flatten()[0]) > 1e9:
+         raise ValueError("gate")
      return _new(gate, *gate.shape)
""",
}
