"""silu_mul refuses a tensor without elements.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   Tensor out = new_like(gate);
+   STD_TORCH_CHECK(gate.numel() > 0, "gate is empty");
+   Tensor out = new_like(gate);
""",
}
