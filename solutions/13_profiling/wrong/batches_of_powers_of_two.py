"""Powers of two alone are tried.

Fails: roofline
"""

LINES = {
    "compute_bound_batch": r"""
-     for batch in range(1, limit + 1):
+     for batch in (2**i for i in range(limit.bit_length())):
""",
}
