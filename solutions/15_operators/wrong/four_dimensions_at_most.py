"""silu_mul takes four dimensions at most.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   Tensor out = new_like(gate);
+   STD_TORCH_CHECK(gate.dim() <= 4, "gate has too many dimensions");
+   Tensor out = new_like(gate);
""",
}
