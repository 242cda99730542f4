"""The backward reads dy as if it were contiguous.

Fails: silu_mul, autograd
"""

LINES = {
    "operators.cpp": r"""
-     float y = static_cast<float>(d[at_d.offset]);
+     float y = static_cast<float>(d[i]);
""",
}
