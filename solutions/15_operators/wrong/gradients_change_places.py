"""gate gets the gradient of up, and up that of gate.

Fails: autograd
"""

LINES = {
    "_silu_mul_backward": r"""
-     return dgate if needs_gate else None, dup if needs_up else None
+     return dup if needs_gate else None, dgate if needs_up else None
""",
}
