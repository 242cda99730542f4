"""residual is read and written as if it were contiguous.

Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       float sum = static_cast<float>(xs[at_x.offset]) + static_cast<float>(r[at_r.offset]);
-       r[at_r.offset] = static_cast<T>(sum);
-       sums[e] = static_cast<float>(r[at_r.offset]);  // rounded: what is kept is what is normed
+       int64_t at = row * width + e;
+       float sum = static_cast<float>(xs[at_x.offset]) + static_cast<float>(r[at]);
+       r[at] = static_cast<T>(sum);
+       sums[e] = static_cast<float>(r[at]);
""",
}
