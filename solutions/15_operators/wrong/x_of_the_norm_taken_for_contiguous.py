"""add_rms_norm reads x as if it were contiguous.

Fails: norm, fake
"""

LINES = {
    "operators.cpp": r"""
-       float sum = static_cast<float>(xs[at_x.offset]) + static_cast<float>(r[at_r.offset]);
+       float sum =
+           static_cast<float>(xs[row * width + e]) + static_cast<float>(r[at_r.offset]);
""",
}
