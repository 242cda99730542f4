"""The fake of silu_mul_backward gives one tensor.

Fails: fake
"""

LINES = {
    "_fake_backward": r"""
-     return _new(gate, *gate.shape), _new(gate, *gate.shape)
+     return _new(gate, *gate.shape)
""",
}
