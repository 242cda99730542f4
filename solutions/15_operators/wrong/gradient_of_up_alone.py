"""gate gets no gradient.

Fails: autograd
"""

LINES = {
    "_silu_mul_backward": r"""
-     return dgate if needs_gate else None, dup if needs_up else None
+     return None, dup if needs_up else None
""",
}
