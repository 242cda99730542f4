"""Elements behind the last sixteen bytes are left out.

Fails: cuda, speed
"""

LINES = {
    "operators.cu": r"""
-     for (int64_t i = first; i < count; ++i) out[i] = silu_mul_of(gate[i], up[i]);
+     return;
""",
}
