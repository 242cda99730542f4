"""silu_mul refuses a tensor without dimensions.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   Tensor out = new_like(gate);
+   STD_TORCH_CHECK(gate.dim() > 0, "gate has no dimensions");
+   Tensor out = new_like(gate);
""",
}
