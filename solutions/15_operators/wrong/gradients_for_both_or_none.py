"""There are no gradients unless both inputs need one.

Fails: autograd
"""

LINES = {
    "_silu_mul_backward": r"""
-     return dgate if needs_gate else None, dup if needs_up else None
+     both = needs_gate and needs_up
+     return dgate if both else None, dup if both else None
""",
}
