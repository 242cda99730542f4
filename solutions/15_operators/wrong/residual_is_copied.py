"""The sum is kept in a copy: residual stays as it was.

Fails: norm
"""

LINES = {
    "operators.cpp": r"""
  Tensor add_rms_norm(Tensor x, Tensor residual, Tensor weight, double eps) {
    check_float(x, "x");
+   residual = torch::stable::clone(residual);
""",
}
