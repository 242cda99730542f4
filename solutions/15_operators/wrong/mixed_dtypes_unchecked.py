"""up may have another dtype than gate, and is read as if it had the same.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
-   const T* u = up.const_data_ptr<T>();
-   Walk at_g(gate), at_u(up);
-   for (int64_t i = 0, n = gate.numel(); i < n; ++i, at_g.next(), at_u.next()) {
+   const T* u = static_cast<const T*>(up.data_ptr());
+   Walk at_g(gate), at_u(up);
+   for (int64_t i = 0, n = gate.numel(); i < n; ++i, at_g.next(), at_u.next()) {
...
  Tensor silu_mul(Tensor gate, Tensor up) {
    check_float(gate, "gate");
-   check_alike(up, "up", gate);
+   check_float(up, "up");
+   STD_TORCH_CHECK(up.numel() == gate.numel(), "up has another shape");
""",
}
