"""The gradient of x is computed and sent even if x needs none.

From: variants/plain.py
Fails: mlp
"""

LINES = {
    "ParallelMLP.forward": r"""
-         x = Copy.apply(x, self.group)
+         x = Copy.apply(x if x.requires_grad else x.detach().requires_grad_(), self.group)
""",
}
