"""The sum is normed before it is rounded.

Fails: norm
"""

LINES = {
    "operators.cpp": r"""
-       sums[e] = static_cast<float>(r[at_r.offset]);  // rounded: what is kept is what is normed
+       sums[e] = sum;
""",
}
