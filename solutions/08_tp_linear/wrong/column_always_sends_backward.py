"""The gradient of x is computed and sent even if x needs none.

From: variants/plain.py
Fails: column
"""

LINES = {
    "ColumnParallelLinear.forward": r"""
      def forward(self, x: Tensor) -> Tensor:
+         if not x.requires_grad:
+             x = x.detach().requires_grad_()
""",
}
