"""What is not bfloat16 is taken for float32, whatever its dtype, and read by bare pointers.

Fails: silu_mul
"""

LINES = {
    "operators.cpp": r"""
- void silu_mul_into(T* out, const Tensor& gate, const Tensor& up) {
-   const T* g = gate.const_data_ptr<T>();
-   const T* u = up.const_data_ptr<T>();
+ void silu_mul_into(T* out, const Tensor& gate, const Tensor& up) {
+   const T* g = static_cast<const T*>(gate.data_ptr());
+   const T* u = static_cast<const T*>(up.data_ptr());
...
  Tensor silu_mul(Tensor gate, Tensor up) {
-   check_float(gate, "gate");
    check_alike(up, "up", gate);
    Tensor out = new_like(gate);
-   if (gate.scalar_type() == ScalarType::Float) {
-     silu_mul_into(out.mutable_data_ptr<float>(), gate, up);
+   if (gate.scalar_type() != ScalarType::BFloat16) {
+     silu_mul_into(static_cast<float*>(out.data_ptr()), gate, up);
""",
}
